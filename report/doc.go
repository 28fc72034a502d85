// Package report turns records into tables and tables into ink.
//
// It is opinionated: the replicate is the run, so every statistic of a row is
// over per-run values, one per run, and never over iterations; iterations
// are pooled only for the quantiles of a single iteration, and stand apart.
// Void and failed runs and warm-up runs are out of the statistics and never out
// of sight: every table counts them and names their reasons. A number that
// is undefined at this n is shown as "-" and never invented. Doubts about a
// result are footnotes that say what to do.
//
// The pipeline:
//
//  1. [Collect] reads a [Source] once and keeps, for every treatment and metric,
//     the column of per-run values in time order.
//  2. [Data.Document] summarises the columns (package stats) into [Table] values,
//     numbers in base units, with footnotes, and no text layout, and says what
//     they show together.
//  3. The inks render a [Document]: [TextDocument], [MarkdownDocument], [GitHub],
//     [LaTeX], [JSONDocument], [SummaryCSV], [ContrastsCSV], [HTML]. Text,
//     Markdown and LaTeX print the same view of it, in which every sentence and
//     every cell is a text already. Only inks for people scale units; CSV and JSON
//     keep base units and full digits.
//  4. [Write] does 1 and 2 and writes the derived files of a result folder. Those
//     with a row per run (runs.csv, iterations.csv.gz) stream through the records
//     again, so their memory does not grow with the experiment.
package report
