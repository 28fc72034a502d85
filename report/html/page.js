"use strict";
// The page's numbers are in the tables that Go wrote. This draws the plots from the embedded runs, links them, and fills
// the raw table. Nothing is fetched.
(async () => {
  const $ = (id) => document.getElementById(id);
  const el = (tag, attrs = {}, ...children) => {
    const e = document.createElement(tag);
    for (const [k, v] of Object.entries(attrs)) {
      if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
      else if (v !== false && v != null) e.setAttribute(k, v === true ? "" : v);
    }
    e.append(...children);
    return e;
  };

  // ---- theme ----
  const themes = ["auto", "light", "dark"];
  $("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const next = themes[(themes.indexOf(root.dataset.theme) + 1) % themes.length];
    root.dataset.theme = next;
    $("theme").textContent = "Theme: " + next;
  });

  // ---- data ----
  if (typeof DecompressionStream === "undefined") {
    for (const p of document.querySelectorAll(".plot")) p.textContent = "This browser cannot unpack the runs (no DecompressionStream); the tables hold the numbers, runs.csv the runs.";
    return;
  }
  const packed = Uint8Array.from(atob($("runs-data").textContent.trim()), (c) => c.charCodeAt(0));
  const data = JSON.parse(await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text());

  const outcomes = { k: "kept", v: "void", f: "failed" };
  const runs = []; // every attempt of every set; its index is its id
  data.sets.forEach((set, s) => {
    set.first = runs.length;
    set.run.forEach((run, i) => runs.push({
      id: runs.length, set: s, i, run, attempt: set.attempt[i], block: set.block[i], position: set.position[i], row: set.row[i],
      outcome: outcomes[set.outcome[i].toLowerCase()], warmup: set.outcome[i] !== set.outcome[i].toLowerCase(),
      cpus: set.cpuTexts[set.cpus[i]], start: set.start[i], reason: set.reasons[i] || "",
    }));
  });
  const runsOf = (s) => runs.slice(data.sets[s].first, data.sets[s].first + data.sets[s].run.length);
  const counts = (r) => r.outcome === "kept" && !r.warmup;
  const label = (r) => data.sets[r.set].rows[r.row];
  const colour = (set, row) => data.sets[set].colours[row];
  const valueOf = (r, metric) => (metric < 0 ? null : data.sets[r.set].values[metric][r.i]);
  const counterOf = (r, c) => data.sets[r.set].counterValues[c][r.i];

  const plain = (v) => (v == null ? "-" : String(+v.toPrecision(7)));
  const apart = (share) => (Math.abs(share) < 5e-5 ? "below 0.01%" : `${share > 0 ? "+" : ""}${(100 * share).toPrecision(2)}%`);
  const brief = (v) => (Math.abs(v) >= 1e7 ? v.toExponential(3).replace("e+", "e") : String(+v.toPrecision(Math.abs(v) >= 1000 ? 7 : 4)));
  const shown = (f, v) => {
    const s = (v * f.factor).toFixed(f.decimals);
    return s.length > 14 ? (v * f.factor).toExponential(4) : s;
  };

  // ---- selection: one for all plots and the table ----
  const selected = new Set();
  let active = null;
  const plots = [];
  const say = (text) => { $("live").textContent = text; };

  function select(ids, mode) {
    if (mode === "only") selected.clear();
    for (const id of ids) {
      if (mode === "toggle" && selected.has(id)) selected.delete(id);
      else selected.add(id);
    }
    selectionChanged();
  }
  function selectionChanged() {
    const n = selected.size;
    $("selection").hidden = n === 0;
    const kept = [...selected].map((id) => runs[id]);
    const modes = [...new Set(kept.map((r) => label(r)))];
    $("selection-text").textContent = n === 1 ? `1 run selected: ${describe(kept[0]).slice(0, 3).join(", ")}` :
      `${n} runs selected${modes.length <= 4 ? ` (${modes.join(", ")})` : ""}; marked in every plot of ${[...new Set(kept.map((r) => data.sets[r.set].name))].join(", ")}`;
    for (const p of plots) p.mark();
    if ($("raw-selected").checked) table.refresh();
    else table.paintSelection();
  }
  $("selection-clear").addEventListener("click", () => { selected.clear(); selectionChanged(); });
  $("selection-show").addEventListener("click", () => {
    $("raw-selected").checked = true;
    table.refresh();
    $("raw").scrollIntoView();
    $("raw-selected").focus();
  });

  // ---- what is said of a run ----
  function describe(r, f) {
    const set = data.sets[r.set];
    const lines = [];
    f = f || data.figures.find((g) => g.set === r.set && g.metric === set.main);
    const m = f ? f.metric : set.main;
    const v = valueOf(r, m);
    if (v != null) {
      const mid = f && f.boxes[r.row] && counts(r) ? f.boxes[r.row].median : null;
      lines.push(f ? `${f.name} ${shown(f, v)} ${f.unit}${mid ? ` (${apart(v / mid - 1)} from its mode's median)` : ""}` : `${set.metrics[m].name} ${plain(v)} ${set.metrics[m].unit}`);
    }
    const n = numberOf(r, m);
    lines.push(n ? `run ${n} of its mode (plan run ${r.run})` : `plan run ${r.run}${r.attempt > 1 ? `, attempt ${r.attempt}` : ""}`);
    lines.push(r.block === 0 ? "warm-up" : `round ${r.block}, place ${r.position}`);
    lines.push(`CPU ${r.cpus || "any"}`);
    if (r.outcome !== "kept") lines.push(`${r.outcome}${r.reason ? ": " + r.reason : ""}`);
    return lines;
  }
  // The number that the report's words use: the place among the values of the mode, in time order.
  const numbers = new Map();
  function numberOf(r, m) {
    const key = r.set + ":" + m;
    if (!numbers.has(key)) {
      const next = {}, of = new Map();
      for (const q of runsOf(r.set)) if (counts(q) && valueOf(q, m) != null) of.set(q.id, next[q.row] = (next[q.row] || 0) + 1);
      numbers.set(key, of);
    }
    return numbers.get(key).get(r.id);
  }
  function countersOf(r) {
    const set = data.sets[r.set];
    return set.counters.map((name, c) => [name, counterOf(r, c)]).filter(([, v]) => v != null);
  }

  // ---- the tip: hover and keyboard show the same ----
  const tip = $("tip");
  function showTip(r, f, x, y) {
    const [first, ...rest] = describe(r, f);
    tip.replaceChildren(el("strong", {}, label(r)), el("div", {}, first), el("div", {}, rest.join(" · ")));
    const counters = countersOf(r);
    if (counters.length) {
      const most = 6, dl = el("dl");
      // Those that are unusual for this run's mode come first: they are what a reader looks for.
      const { rank, mid } = unusual(r);
      counters.sort((a, b) => rank(b) - rank(a));
      dl.append(el("dt", { class: "head" }, "most unusual for its mode"), el("dd", { class: "head" }, "here"), el("dd", { class: "head" }, "median"));
      for (const [name, v] of counters.slice(0, most)) dl.append(el("dt", {}, name), el("dd", {}, brief(v)), el("dd", {}, brief(mid(name))));
      tip.append(dl);
      if (counters.length > most) tip.append(el("div", { class: "more" }, `${counters.length - most} more in the raw table`));
    }
    tip.hidden = false;
    if (innerWidth < 600) { // a phone: along the upper edge, away from the finger and from the bar below
      tip.style.left = tip.style.top = "4px";
      return;
    }
    const box = tip.getBoundingClientRect(), off = 26;
    const left = x + off + box.width > innerWidth ? x - off - box.width : x + off;
    const top = y + off + box.height > innerHeight ? y - off - box.height : y + off;
    tip.style.left = Math.max(4, left) + "px";
    tip.style.top = Math.max(4, top) + "px";
  }
  const unusualCache = new Map();
  function unusual(r) {
    const key = r.set + ":" + r.row;
    if (!unusualCache.has(key)) {
      const peers = runsOf(r.set).filter((p) => p.row === r.row && counts(p));
      unusualCache.set(key, data.sets[r.set].counters.map((_, c) => {
        const vs = peers.map((p) => counterOf(p, c)).filter((v) => v != null);
        const mid = d3.median(vs) ?? 0;
        return { mid, dev: d3.median(vs, (v) => Math.abs(v - mid)) || Math.abs(mid) / 10 || 1 };
      }));
    }
    const stats = unusualCache.get(key);
    const names = data.sets[r.set].counters;
    const of = (name) => stats[names.indexOf(name)];
    return { rank: ([name, v]) => Math.abs(v - of(name).mid) / of(name).dev, mid: (name) => of(name).mid };
  }
  function hideTip() { tip.hidden = true; }
  function activate(r) {
    active = r;
    for (const p of plots) p.ring();
  }

  // ---- plots ----
  const jitter = (r) => ((r.run * 2654435761) >>> 0) / 4294967296; // the same run at the same height in every drawing

  // Each kind gives scales, what it draws beneath the runs, and where a run stands.
  const kinds = { strip, box, cdf, tail, counter, ratio_median: (p) => ratio(p, "median"), ratio_sd: (p) => ratio(p, "sd") };

  function strip(p) {
    const f = p.figure, all = runsOf(f.set);
    const valued = all.filter((r) => valueOf(r, f.metric) != null);
    const scale = valued.filter(counts).length ? valued.filter(counts) : valued;
    const some = all.some((r) => valueOf(r, f.metric) == null);
    p.size(270 + (some ? 20 : 0), { left: 62, top: 26, bottom: 40 + (some ? 20 : 0) });
    const x = d3.scaleLinear(d3.extent(all, (r) => r.run), [6, p.w - 6]);
    const y = d3.scaleLinear(padded(d3.extent(scale, (r) => valueOf(r, f.metric) * f.factor)), [p.h, 0]).clamp(true);
    p.axes(x, y, "run, in time order", f.axis);
    if (some) p.text(-6, p.h + 34, "no value", "end");
    p.at = (r) => {
      const v = valueOf(r, f.metric);
      return [x(r.run), v == null ? p.h + 30 : y(v * f.factor)];
    };
    p.runs = all;
    // The medians, so that a level can be told from a spread.
    for (const b of f.boxes) if (b.median != null) p.line([[0, y(b.median * f.factor)], [p.w, y(b.median * f.factor)]], colour(f.set, b.row), "level");
  }
  const padded = ([a, b]) => {
    if (a == null) return [0, 1];
    const d = (b - a) * 0.06 || Math.abs(a) * 0.01 || 1;
    return [a - d, b + d];
  };

  function lanes(p, n, height) {
    p.size(n * height + 44, { left: 16, right: 20, bottom: 36, top: 8 });
    return (i) => i * height;
  }

  function box(p) {
    const f = p.figure, rows = data.sets[f.set].rows, lane = lanes(p, rows.length, 58);
    p.runs = runsOf(f.set).filter((r) => counts(r) && valueOf(r, f.metric) != null);
    const x = d3.scaleLinear(padded(d3.extent(p.runs, (r) => valueOf(r, f.metric) * f.factor)), [0, p.w]);
    p.axes(x, null, f.axis);
    const at = (v) => x(v * f.factor);
    rows.forEach((name, i) => {
      const b = f.boxes[i], top = lane(i), mid = top + 32, c = colour(f.set, i);
      const ci = b && b.lo != null ? `, median ${shown(f, b.median)} (${shown(f, b.lo)} to ${shown(f, b.hi)})` : "";
      p.text(0, top + 12, `${name}: n = ${b ? b.n : 0}${ci}`, "start", "lane");
      if (!b) return;
      if (b.q1 != null) {
        p.line([[at(b.low), mid], [at(b.q1), mid]], c, "whisker");
        p.line([[at(b.q3), mid], [at(b.high), mid]], c, "whisker");
        p.rect(at(b.q1), mid - 11, at(b.q3) - at(b.q1), 22, c);
        p.line([[at(b.median), mid - 11], [at(b.median), mid + 11]], c, "median");
      }
      if (b.lo != null) p.line([[at(b.lo), mid + 16], [at(b.hi), mid + 16]], c, "interval");
    });
    p.at = (r) => [at(valueOf(r, f.metric)), lane(r.row) + 24 + 16 * jitter(r)];
  }

  // Where runs stand in the plots of iterations: as ticks at their value, by mode, along the lower edge.
  function rug(p, x) {
    const f = p.figure, n = data.sets[f.set].rows.length;
    p.runs = runsOf(f.set).filter((r) => counts(r) && valueOf(r, f.metric) != null);
    const [a, b] = x.domain();
    p.at = (r) => {
      const v = valueOf(r, f.metric) * f.factor;
      return v < a || v > b ? null : [x(v), p.h - 3 - Math.min(5, 30 / n) * (n - 1 - r.row)];
    };
    p.small = true;
  }
  const stairs = (xs, ys) => xs.flatMap((x, i) => (i ? [[x, ys[i - 1]], [x, ys[i]]] : [[x, ys[0]]]));

  function cdf(p) {
    const f = p.figure;
    if (!f.curves.length) return p.nothing();
    p.size(250, { left: 62, top: 26, bottom: 40 });
    // The body: the tails have the plot beside.
    const quantile = (c, q) => c.x[Math.min(d3.bisectLeft(c.p, q), c.x.length - 1)];
    const ends = f.curves.map((c) => {
      const lo = quantile(c, 0.05), hi = quantile(c, 0.95), d = (hi - lo) / 2;
      return [Math.max(c.x[0], lo - d), Math.min(c.x[c.x.length - 1], hi + d)];
    });
    const domain = padded([d3.min(ends, (e) => e[0]) * f.factor, d3.max(ends, (e) => e[1]) * f.factor]);
    const x = d3.scaleLinear(domain, [0, p.w]);
    const y = d3.scaleLinear([0, 1], [p.h, 0]);
    p.axes(x, y, f.axis, `share of ${f.of} ≤ x`, null, ".0%");
    for (const c of f.curves) {
      const from = d3.bisectLeft(c.x, domain[0] / f.factor), to = d3.bisectRight(c.x, domain[1] / f.factor);
      if (to <= from) continue;
      const xs = [0, ...c.x.slice(from, to).map((v) => x(v * f.factor)), p.w];
      const before = from > 0 ? c.p[from - 1] : 0;
      p.line(stairs(xs, [before, ...c.p.slice(from, to), c.p[to - 1]].map(y)), colour(f.set, c.row), "curve");
    }
    rug(p, x);
  }
  function tail(p) {
    const f = p.figure, low = f.better === "higher";
    if (!f.curves.length) return p.nothing();
    p.size(250, { left: 62, top: 26, bottom: 40 });
    const lo = d3.min(f.curves, (c) => c.x[0]) * f.factor, hi = d3.max(f.curves, (c) => c.x[c.x.length - 1]) * f.factor;
    const far = lo > 0 && hi / lo > 8; // a tail that long hides its body on a linear scale
    const x = far ? d3.scaleLog([lo / 1.05, hi * 1.05], [0, p.w]) : d3.scaleLinear(padded([lo, hi]), [0, p.w]);
    const most = d3.max(f.curves, (c) => c.n);
    const y = d3.scaleLog([Math.min(0.5 / most, 0.1), 1], [p.h, 0]).clamp(true);
    const decades = d3.range(0, Math.floor(Math.log10(y.domain()[0])) - 1, -1).map((e) => 10 ** e).filter((t) => t >= y.domain()[0]);
    p.axes(x, y, f.axis + (far ? " (log)" : ""), `share ${low ? "≤" : "≥"} x (log)`, far ? ticksOf(x, p.w / 60) : null, "~%", decades);
    for (const c of f.curves) {
      // Share at or beyond x, on the side that hurts.
      const share = c.p.map((q) => (low ? q : 1 - q + 1 / c.n));
      p.line(c.x.map((v, i) => [x(v * f.factor), y(share[i])]), colour(f.set, c.row), "curve");
    }
    rug(p, x);
  }

  function counter(p) {
    const f = p.figure, set = data.sets[f.set];
    const chooser = p.host.parentElement.querySelector("select");
    const [what, index] = (chooser && chooser.value ? chooser.value : "none:0").split(":");
    if (what === "none") return p.nothing("no counters in these records");
    const of = (r) => (what === "c" ? counterOf(r, +index) : valueOf(r, +index));
    const name = what === "c" ? set.counters[index] : `${set.metrics[index].name}, ${set.metrics[index].unit}`;
    p.runs = runsOf(f.set).filter((r) => counts(r) && valueOf(r, f.metric) != null && of(r) != null);
    p.size(270, { left: 62, top: 26, bottom: 40 });
    const x = d3.scaleLinear(padded(d3.extent(p.runs, of)), [0, p.w]);
    const y = d3.scaleLinear(padded(d3.extent(p.runs, (r) => valueOf(r, f.metric) * f.factor)), [p.h, 0]);
    p.axes(x, y, name, f.axis);
    p.at = (r) => [x(of(r)), y(valueOf(r, f.metric) * f.factor)];
  }

  function ratio(p, which) {
    const f = p.figure, list = f.ratios;
    if (!list.length) return p.nothing("no baseline to compare with");
    const lane = lanes(p, list.length, 58);
    // A run's own part: its ratio to the baseline's run of the same block (to the baseline's median where runs share no blocks), or its distance from its mode's median in sds of the baseline.
    const own = new Map();
    const kept = runsOf(f.set).filter((r) => counts(r) && valueOf(r, f.metric) != null);
    const blocks = new Map(kept.map((r) => [r.row + ":" + r.block, valueOf(r, f.metric)]));
    list.forEach((q, i) => {
      const sd = f.sds[q.base], mid = f.boxes[q.row] ? f.boxes[q.row].median : null;
      for (const r of kept) {
        if (r.row !== q.row || own.has(r.id)) continue;
        const v = valueOf(r, f.metric), base = q.blocks ? blocks.get(q.base + ":" + r.block) : f.boxes[q.base]?.median;
        const share = which === "median" ? v / base : mid == null || !sd ? NaN : Math.abs(v - mid) / sd;
        if (share > 0 && share < Infinity) own.set(r.id, [share, i]);
      }
    });
    // The scale is made for the intervals; of the runs what is far out stands at the edge.
    const all = [1, ...list.flatMap((r) => [r[which].v, r[which].lo, r[which].hi]).filter((v) => v > 0)].map(Math.log);
    const [near, far] = d3.extent(list.map((r) => r[which].v).filter((v) => v > 0).concat(1).map(Math.log));
    let lo = Math.max(d3.min(all), near - 2), hi = Math.min(d3.max(all), far + 2);
    const room = Math.max(hi - lo, 0.01);
    const dots = [...own.values()].map((o) => Math.log(o[0]));
    lo = Math.min(lo, Math.max(d3.min(dots) ?? 0, lo - room)) - 0.06 * room;
    hi = Math.max(hi, Math.min(d3.max(dots) ?? 0, hi + room)) + 0.06 * room;
    const x = d3.scaleLog([Math.exp(lo), Math.exp(hi)], [0, p.w]).clamp(true);
    p.axes(x, null, which === "sd" ? "ratio of sds (below 1: steadier)" : list[0].blocks ? "median ratio within rounds" : "median ratio", null, ticksOf(x, p.w / 60));
    list.forEach((r, i) => {
      const e = r[which], mid = lane(i) + 30, c = colour(f.set, r.row), name = data.sets[f.set].rows[r.row];
      p.line([[x(1), mid - 12], [x(1), mid + 26]], null, "one");
      p.text(0, lane(i) + 12, `${name}: ${e.words}`, "start", "lane" + (e.better > 0 ? " gain" : e.better < 0 ? " loss" : ""));
      if (e.lo != null && e.hi != null) p.line([[x(Math.max(e.lo, 1e-300)), mid], [x(e.hi), mid]], c, "interval");
      if (e.v > 0) p.dot(x(e.v), mid, c);
    });
    p.runs = kept.filter((r) => own.has(r.id));
    p.at = (r) => [x(own.get(r.id)[0]), lane(own.get(r.id)[1]) + 38 + 12 * jitter(r)];
    p.small = true;
  }
  // Readable ticks of a logarithmic scale: within a narrow one those of a linear scale.
  function ticksOf(x, most) {
    const [a, b] = x.domain();
    if (b / a < 4) return d3.ticks(a, b, Math.min(5, most));
    for (const steps of [[1, 2, 5], [1, 3], [1]]) {
      const out = d3.range(Math.floor(Math.log10(a)), Math.ceil(Math.log10(b)) + 1).flatMap((e) => steps.map((v) => v * 10 ** e)).filter((t) => t >= a && t <= b);
      if (out.length <= most || steps.length === 1) return out;
    }
  }

  class Plot {
    constructor(host) {
      this.host = host;
      this.figure = data.figures[+host.dataset.figure];
      this.kind = host.dataset.kind;
      host.addEventListener("keydown", (e) => this.key(e));
      host.addEventListener("focus", () => this.focus());
      host.addEventListener("blur", () => { hideTip(); activate(null); });
      this.draw();
    }
    draw() {
      this.runs = [];
      this.at = () => null;
      this.small = false;
      this.host.replaceChildren();
      kinds[this.kind](this);
      if (!this.svg) return;
      this.places = this.runs.map((r) => ({ r, xy: this.at(r) })).filter((q) => q.xy);
      this.order = [...this.places].sort((a, b) => a.r.run - b.r.run || a.r.attempt - b.r.attempt);
      this.dots = this.svg.append("g").attr("class", "dots");
      this.over = this.svg.append("g").attr("class", "over");
      this.circle = this.svg.append("circle").attr("class", "ring").attr("r", 7).attr("visibility", "hidden");
      this.paint(this.dots, this.places);
      this.interact();
      this.mark();
    }
    nothing(text) {
      this.svg = null;
      this.host.replaceChildren(el("p", { class: "empty" }, text || "nothing to draw"));
    }
    size(height, margin) {
      const m = { left: 16, right: 20, top: 10, bottom: 12, ...margin };
      const width = Math.max(260, this.host.clientWidth || 600);
      this.w = width - m.left - m.right;
      this.h = height - m.top - m.bottom;
      const root = d3.select(this.host).append("svg").attr("viewBox", `0 0 ${width} ${height}`).attr("aria-hidden", "true");
      this.svg = root.append("g").attr("transform", `translate(${m.left},${m.top})`);
      this.offset = m;
    }
    axes(x, y, xLabel, yLabel, xTicks, yFormat, yTicks) {
      const few = Math.max(3, Math.floor(this.w / 80));
      const ax = d3.axisBottom(x);
      if (xTicks) ax.tickValues(xTicks).tickFormat(d3.format("~g"));
      else ax.ticks(few);
      this.svg.append("g").attr("class", "axis").attr("transform", `translate(0,${this.h})`).call(ax);
      this.text(this.w, this.h + 32, xLabel, "end", "title");
      if (!y) return;
      const ay = d3.axisLeft(y).ticks(6, yFormat || undefined).tickSize(-this.w);
      if (yTicks) ay.tickValues(yTicks).tickFormat(d3.format(yFormat));
      this.svg.append("g").attr("class", "axis grid").call(ay);
      this.text(6 - this.offset.left, -12, yLabel, "start", "title");
    }
    text(x, y, s, anchor, cls) { this.svg.append("text").attr("x", x).attr("y", y).attr("text-anchor", anchor).attr("class", cls || "small").text(s); }
    line(points, c, cls) {
      this.svg.append("path").attr("class", `${cls} ${c == null ? "" : "c" + (c % 10)}`).attr("d", "M" + points.map((q) => q.map((v) => v.toFixed(1)).join(",")).join("L"));
    }
    rect(x, y, w, h, c) { this.svg.append("rect").attr("class", `box c${c % 10}`).attr("x", x).attr("y", y).attr("width", Math.max(1, w)).attr("height", h); }
    dot(x, y, c) { this.svg.append("circle").attr("class", `estimate c${c % 10}`).attr("cx", x).attr("cy", y).attr("r", 5); }
    // Thousands of dots are one path per mode and kind: a dot is a line of no length with round ends.
    paint(g, places) {
      g.selectAll("*").remove();
      const groups = d3.group(places, (q) => `${colour(q.r.set, q.r.row)} ${counts(q.r) ? "kept" : q.r.outcome !== "kept" ? "lost" : "warm"}`);
      for (const [key, list] of groups) {
        const [c, kind] = key.split(" ");
        const one = kind === "lost" ? ([x, y]) => `M${x - 3.5},${y - 3.5}l7,7m0,-7l-7,7` : ([x, y]) => `M${x.toFixed(1)},${y.toFixed(1)}h0`;
        g.append("path").attr("class", `runs ${kind} c${c % 10}${c >= 10 ? " square" : ""}${this.small || places.length > 2500 ? " fine" : ""}`).attr("d", list.map((q) => one(q.xy)).join(""));
      }
    }
    mark() {
      if (!this.svg) return;
      const chosen = this.places.filter((q) => selected.has(q.r.id));
      this.host.classList.toggle("selecting", selected.size > 0);
      this.host.dataset.marked = chosen.length;
      this.paint(this.over, chosen);
    }
    ring() {
      if (!this.svg) return;
      const q = active && active.set === this.figure.set ? this.places.find((p) => p.r.id === active.id) : null;
      this.circle.attr("visibility", q ? "visible" : "hidden");
      if (q) this.circle.attr("cx", q.xy[0]).attr("cy", q.xy[1]);
    }
    nearest(x, y, reach) {
      let best = null, d = reach * reach;
      for (const q of this.places) {
        const e = (q.xy[0] - x) ** 2 + (q.xy[1] - y) ** 2;
        if (e <= d) { d = e; best = q; }
      }
      return best;
    }
    interact() {
      const layer = this.svg.append("g").attr("class", "brush");
      const extra = this.kind === "strip" ? 36 : 0;
      const brush = d3.brush().extent([[-4, -4], [this.w + 4, this.h + 4 + extra]]).touchable(false).on("start", hideTip).on("end", (e) => {
        if (!e.sourceEvent) return;
        const mode = e.sourceEvent.shiftKey ? "add" : "only";
        if (!e.selection) {
          const [x, y] = d3.pointer(e.sourceEvent, this.svg.node());
          const q = this.nearest(x, y, 24);
          if (q) select([q.r.id], e.sourceEvent.shiftKey ? "toggle" : "only");
          else if (!e.sourceEvent.shiftKey) { selected.clear(); selectionChanged(); }
          return;
        }
        const [[x0, y0], [x1, y1]] = e.selection;
        layer.call(brush.move, null);
        select(this.places.filter(({ xy: [x, y] }) => x >= x0 && x <= x1 && y >= y0 && y <= y1).map((q) => q.r.id), mode);
      });
      layer.call(brush);
      const root = d3.select(this.host).select("svg");
      root.on("pointermove", (e) => {
        if (e.buttons) { hideTip(); activate(null); return; } // a drag is under way
        const [x, y] = d3.pointer(e, this.svg.node());
        const q = this.nearest(x, y, 24);
        if (!q) { hideTip(); activate(null); return; }
        if (active !== q.r) activate(q.r);
        showTip(q.r, this.figure, e.clientX, e.clientY);
      });
      root.on("pointerleave", () => { hideTip(); activate(null); });
      root.on("click", (e) => { // touch: the brush leaves it alone, so that the page scrolls
        if (e.pointerType !== "touch") return;
        const [x, y] = d3.pointer(e, this.svg.node());
        const q = this.nearest(x, y, 32);
        if (q) { select([q.r.id], "toggle"); showTip(q.r, this.figure, e.clientX, e.clientY); }
      });
    }
    // The keyboard walks through the runs in time order.
    focus() {
      if (this.svg && this.order.length && this.host.matches(":focus-visible")) this.visit(this.cursor || 0);
    }
    visit(i) {
      this.cursor = Math.max(0, Math.min(this.order.length - 1, i));
      const q = this.order[this.cursor];
      activate(q.r);
      const b = this.host.querySelector("svg").getBoundingClientRect(), k = b.width / (this.w + this.offset.left + this.offset.right);
      showTip(q.r, this.figure, b.left + k * (q.xy[0] + this.offset.left), b.top + k * (q.xy[1] + this.offset.top));
      const counters = countersOf(q.r).map(([n, v]) => `${n} ${plain(v)}`).join(", ");
      say(`${label(q.r)}, ${describe(q.r, this.figure).join(", ")}${counters ? "; " + counters : ""}${selected.has(q.r.id) ? "; selected" : ""}`);
      return q;
    }
    key(e) {
      if (!this.svg || !this.order.length) return;
      const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -1e9, End: 1e9 };
      const at = this.cursor ?? 0;
      if (e.key in steps) {
        if (e.shiftKey) select([this.order[at].r.id], "add");
        const q = this.visit(at + steps[e.key]);
        if (e.shiftKey) select([q.r.id], "add");
      } else if (e.key === "Enter" || e.key === " ") {
        select([this.order[at].r.id], "toggle");
        this.visit(at);
      } else if (e.key === "Escape") {
        selected.clear();
        selectionChanged();
        hideTip();
        say("selection cleared");
      } else return;
      e.preventDefault();
    }
  }

  // ---- the raw table ----
  const table = (() => {
    const size = 50;
    const fixed = [
      { key: "run", get: (r) => r.run }, { key: "workload", text: true, get: (r) => data.sets[r.set].name }, { key: "mode", text: true, get: label },
      { key: "attempt", get: (r) => r.attempt }, { key: "block", get: (r) => r.block }, { key: "place", get: (r) => r.position },
      { key: "outcome", text: true, get: (r) => (r.warmup ? "warm-up " : "") + r.outcome }, { key: "CPUs", text: true, get: (r) => r.cpus || "any" },
    ];
    const last = [{ key: "start", unit: "s", get: (r) => r.start / 1000 }, { key: "reason", text: true, get: (r) => r.reason || null }];
    const byKey = new Map();
    data.sets.forEach((set, s) => {
      set.metrics.forEach((m, i) => column(m.name, m.unit, s, (r) => valueOf(r, i)));
      set.counters.forEach((name, i) => column(name, "", s, (r) => counterOf(r, i)));
    });
    function column(key, unit, s, get) {
      const id = key + "\u0000" + unit;
      if (!byKey.has(id)) byKey.set(id, { key, unit, from: new Map(), get(r) { const g = this.from.get(r.set); return g ? g(r) : null; } });
      if (!byKey.get(id).from.has(s)) byKey.get(id).from.set(s, get);
    }
    const columns = [...fixed, ...byKey.values(), ...last];
    let sort = { column: fixed[0], down: false }, page = 0, rows = runs;

    const unique = (list) => [...new Set(list)];
    const options = (id, list) => $(id).append(...list.map((v) => el("option", { value: v }, v)));
    options("raw-workload", unique(data.sets.map((s) => s.name)));
    options("raw-mode", unique(data.sets.flatMap((s) => s.rows)));
    options("raw-outcome", unique(runs.map((r) => fixed[6].get(r))));

    // A term is a word that a text field holds, or a condition on a column: "involuntary-switches>40". What cannot be
    // understood is said, and not taken for a word that no run has.
    function columnsNamed(name) {
      const n = name.toLowerCase(), exact = columns.filter((c) => c.key.toLowerCase() === n);
      if (exact.length) return exact;
      const begin = columns.filter((c) => c.key.toLowerCase().startsWith(n));
      return begin.length ? begin : columns.filter((c) => c.key.toLowerCase().includes(n));
    }
    const unlike = (list) => [...new Set(list.map((c) => c.key))];
    function condition(term, fault) {
      const m = /^([^<>=]*)(>=|<=|>|<|=)([^<>=]*)$/.exec(term);
      if (!m) return fault(`${term}: a condition is COLUMN>NUMBER, with one of > < >= <= =`);
      const [, name, op, text] = m, found = name ? columnsNamed(name) : [];
      if (!found.length) return fault(`${term}: no column is called ${name || "nothing"}`);
      if (unlike(found).length > 1) return fault(`${term}: ${name} could be ${unlike(found).slice(0, 6).join(", ")}`);
      const c = found[0], isText = c.text, want = Number(text);
      if (text === "") return fault(`${term}: a value is missing`);
      if (isText && op !== "=") return fault(`${term}: ${c.key} holds words; only = can be asked of it`);
      if (!isText && Number.isNaN(want)) return fault(`${term}: ${text} is no number`);
      const get = (r) => { for (const k of found) { const v = k.get(r); if (v != null) return v; } return null; };
      return { column: c, found, get, test: (r) => {
        const v = get(r);
        if (v == null) return false;
        if (op === "=") return isText ? String(v).toLowerCase() === text.toLowerCase() : v === want;
        return op === ">" ? v > want : op === "<" ? v < want : op === ">=" ? v >= want : v <= want;
      } };
    }
    let faults = [];
    function conditions() {
      faults = [];
      const fault = (text) => { faults.push(text); return null; };
      return $("raw-filter").value.trim().split(/\s+/).filter(Boolean).map((term) => {
        if (/[<>=]/.test(term)) {
          const c = condition(term, fault);
          if (!c) return () => true;
          // A condition that all runs or none meet is often one in another unit.
          const valued = runs.map(c.get).filter((v) => v != null);
          const met = runs.filter(c.test).length;
          if (!c.column.text && valued.length && (met === 0 || met === valued.length))
            faults.push(`${term}: ${met ? "met by all runs that have a value" : "met by none"}; ${c.column.key} goes from ${brief(d3.min(valued))} to ${brief(d3.max(valued))}${c.column.unit ? ` ${c.column.unit}` : ""}`);
          return c.test;
        }
        const word = term.toLowerCase();
        return (r) => String(r.run) === word || columns.some((c) => c.text && String(c.get(r) ?? "").toLowerCase().includes(word));
      });
    }
    function compare(a, b) {
      const x = sort.column.get(a), y = sort.column.get(b);
      if (x == null || y == null) return (x == null) - (y == null) || a.id - b.id; // absent last, either way round
      const d = sort.column.text ? String(x).localeCompare(String(y), "en", { numeric: true }) : x - y;
      return (sort.down ? -d : d) || a.run - b.run || a.id - b.id;
    }
    function refresh(stay) {
      const all = conditions(), w = $("raw-workload").value, m = $("raw-mode").value, o = $("raw-outcome").value, only = $("raw-selected").checked;
      rows = runs.filter((r) => (!w || data.sets[r.set].name === w) && (!m || label(r) === m) && (!o || fixed[6].get(r) === o) && (!only || selected.has(r.id)) && all.every((f) => f(r)));
      rows.sort(compare);
      $("raw-error").hidden = faults.length === 0;
      $("raw-error").textContent = faults.join("; ");
      if (!stay) page = 0;
      render();
    }
    function render() {
      const lastPage = Math.max(0, Math.ceil(rows.length / size) - 1);
      page = Math.min(page, lastPage);
      const shownColumns = columnsShown();
      $("raw-head").replaceChildren(el("th", { scope: "col" }, el("span", { class: "hidden" }, "selected")), ...shownColumns.map((c) =>
        el("th", { scope: "col", class: c.text ? "" : "number", "aria-sort": c === sort.column ? (sort.down ? "descending" : "ascending") : "none" },
          el("button", { type: "button", onclick: () => { sort = { column: c, down: c === sort.column && !sort.down }; refresh(); focusHead(c); } }, c.unit ? `${c.key}, ${c.unit}` : c.key))));
      $("raw-body").replaceChildren(...rows.slice(page * size, (page + 1) * size).map((r) => {
        const box = el("input", { type: "checkbox", "aria-label": `select run ${r.run} of ${label(r)}`, onchange: () => select([r.id], "toggle") });
        box.checked = selected.has(r.id);
        return el("tr", { "data-id": r.id, class: (selected.has(r.id) ? "chosen " : "") + (counts(r) ? "" : "apart"), onpointerenter: () => activate(r), onpointerleave: () => activate(null) },
          el("td", {}, box), ...shownColumns.map((c) => {
            const v = c.get(r);
            return c.key === "mode" ? el("td", {}, el("span", { class: `swatch c${colour(r.set, r.row) % 10}` }), v) :
              el("td", { class: c.text ? "" : "number", "data-column": c.key, title: !c.text && v != null ? String(v) : null }, c.text ? v ?? "" : plain(v));
          }));
      }));
      pin();
      $("raw-count").textContent = rows.length ? `${page * size + 1} to ${Math.min(rows.length, (page + 1) * size)} of ${rows.length} runs` : "no run matches";
      $("raw-previous").disabled = page === 0;
      $("raw-next").disabled = page === lastPage;
    }
    function focusHead(c) { $("raw-head").children[1 + columnsShown().indexOf(c)].firstChild.focus(); }
    // Where no run matches, the head stays that of all.
    function columnsShown() {
      const of = rows.length ? rows : runs;
      return columns.filter((c) => c.key === "run" || of.some((r) => c.get(r) != null));
    }
    // What names a run stays in sight while the rest scrolls.
    function pin() {
      const n = innerWidth < 760 ? 2 : 4, heads = [...$("raw-head").children].slice(0, n);
      let left = 0;
      const at = heads.map((th) => { const was = left; left += th.getBoundingClientRect().width; return was; });
      for (const tr of [$("raw-head"), ...$("raw-body").children]) at.forEach((x, i) => { tr.children[i].classList.add("pinned"); tr.children[i].style.left = x + "px"; });
    }
    function paintSelection() {
      for (const tr of $("raw-body").children) {
        const on = selected.has(+tr.dataset.id);
        tr.classList.toggle("chosen", on);
        tr.firstChild.firstChild.checked = on;
      }
    }
    $("raw-previous").addEventListener("click", () => { page--; render(); });
    $("raw-next").addEventListener("click", () => { page++; render(); });
    for (const id of ["raw-filter", "raw-workload", "raw-mode", "raw-outcome", "raw-selected"]) $(id).addEventListener("input", () => refresh());
    refresh();
    return { refresh, paintSelection };
  })();

  // ---- start ----
  for (const b of document.querySelectorAll("button.legend")) {
    b.addEventListener("click", (e) => select(runsOf(+b.dataset.set).filter((r) => r.row === +b.dataset.row).map((r) => r.id), e.shiftKey ? "add" : "only"));
  }
  for (const b of document.querySelectorAll("button.bad")) {
    const wanted = new Set(b.dataset.runs.split(" ").map(Number));
    b.addEventListener("click", (e) => {
      select(runsOf(+b.dataset.set).filter((r) => counts(r) && wanted.has(r.run)).map((r) => r.id), e.shiftKey ? "add" : "only");
      // To where they are to be seen: the strip of the section, or the first of the workload.
      const strips = [...document.querySelectorAll('.plot[data-kind="strip"]')];
      const strip = b.closest("section").querySelector('.plot[data-kind="strip"]') || strips.find((p) => data.figures[+p.dataset.figure].set === +b.dataset.set);
      if (strip) strip.closest("figure").scrollIntoView({ block: "center" });
    });
  }
  for (const host of document.querySelectorAll(".plot")) plots.push(new Plot(host));
  for (const s of document.querySelectorAll("select.counter")) {
    s.addEventListener("change", () => plots.filter((p) => s.parentElement.contains(p.host)).forEach((p) => p.draw()));
  }
  addEventListener("beforeprint", () => { for (const d of document.querySelectorAll("details")) d.open = true; });
  let wide = innerWidth, timer = 0;
  addEventListener("resize", () => {
    if (innerWidth === wide) return; // a phone's address bar moves only the height
    wide = innerWidth;
    clearTimeout(timer);
    timer = setTimeout(() => plots.forEach((p) => p.draw()), 150);
  });
  document.documentElement.dataset.ready = "true";
})();
