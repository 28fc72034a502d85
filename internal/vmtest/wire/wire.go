// Package wire is the language between a test and the agent in its guest:
// requests one way, replies the other, as frames on a serial line. A frame is
// the word "GOVM", the length and the CRC-32 of its payload (big endian), and
// the payload, which is JSON. A reader skips what is no frame, so that a stray
// line of a console does no harm, and refuses a frame that was damaged.
package wire

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
)

const magic = "GOVM"

// maxPayload bounds one frame, in bytes: a damaged length is not waited for.
const maxPayload = 64 << 20

// Request asks the agent for one thing. IDs are the caller's.
type Request struct {
	ID int64  `json:"id"`
	Op string `json:"op"` // "run", "read", "write" or "off"

	// Run: a command, found in PATH, with what is added to its environment.
	Argv  []string `json:"argv,omitempty"`
	Env   []string `json:"env,omitempty"`
	Dir   string   `json:"dir,omitempty"`
	Stdin []byte   `json:"stdin,omitempty"`

	// Read and write: a file. Write makes its folders.
	Path string `json:"path,omitempty"`
	Data []byte `json:"data,omitempty"`
	Mode uint32 `json:"mode,omitempty"`
}

// Reply answers the request of the same ID. A run has two: Started with the
// process ID, and Done.
type Reply struct {
	ID   int64  `json:"id"`
	Kind string `json:"kind"` // Hello, Started or Done
	PID  int    `json:"pid,omitempty"`

	Exit   int    `json:"exit"` // 128+n for signal n
	Stdout []byte `json:"stdout,omitempty"`
	Stderr []byte `json:"stderr,omitempty"`
	Data   []byte `json:"data,omitempty"`
	Err    string `json:"err,omitempty"` // the agent could not do it
}

// The kinds of replies.
const (
	Hello   = "hello" // the guest is up; Data is its kernel's release
	Started = "started"
	Done    = "done"
)

// Write sends one frame.
func Write(w io.Writer, v any) error {
	payload, err := json.Marshal(v)
	if err != nil {
		return err
	}
	frame := make([]byte, 0, len(magic)+8+len(payload))
	frame = append(frame, magic...)
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(payload)))
	frame = binary.BigEndian.AppendUint32(frame, crc32.ChecksumIEEE(payload))
	frame = append(frame, payload...)
	_, err = w.Write(frame)
	return err
}

// Read waits for the next frame and decodes it into v.
func Read(r *bufio.Reader, v any) error {
	if err := skipToMagic(r); err != nil {
		return err
	}
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	size, sum := binary.BigEndian.Uint32(head[:4]), binary.BigEndian.Uint32(head[4:])
	if size > maxPayload {
		return fmt.Errorf("cannot read a frame of %d bytes: the limit is %d", size, maxPayload)
	}
	payload := make([]byte, size)
	if _, err := io.ReadFull(r, payload); err != nil {
		return err
	}
	if got := crc32.ChecksumIEEE(payload); got != sum {
		return fmt.Errorf("cannot use a frame of %d bytes: checksum %08x, want %08x", size, got, sum)
	}
	return json.Unmarshal(payload, v)
}

// skipToMagic reads up to and with the next magic word.
func skipToMagic(r *bufio.Reader) error {
	for at := 0; at < len(magic); {
		b, err := r.ReadByte()
		if err != nil {
			return err
		}
		switch b {
		case magic[at]:
			at++
		case magic[0]:
			at = 1
		default:
			at = 0
		}
	}
	return nil
}
