package perfdata

import "io"

// segment is a range that holds records.
type segment struct{ from, to int64 }

// joined reads a file and its parts as one, each behind the end of the one before.
type joined []joinedPart

type joinedPart struct {
	r        io.ReaderAt
	from, to int64
}

// ReadAt implements io.ReaderAt for ranges that lie within one part.
func (j joined) ReadAt(p []byte, off int64) (int, error) {
	for _, part := range j {
		if off >= part.from && off < part.to {
			return part.r.ReadAt(p, off-part.from)
		}
	}
	return 0, io.EOF
}

// join puts the parts of a recording behind its file.
func (c *capture) join() {
	c.segments = []segment{{c.dataFrom, c.dataTo}}
	if len(c.in.Parts) == 0 {
		return
	}
	all := joined{{c.in.R, 0, c.in.Size}}
	end := c.in.Size
	for _, p := range c.in.Parts {
		all = append(all, joinedPart{p.R, end, end + p.Size})
		c.segments = append(c.segments, segment{end, end + p.Size})
		end += p.Size
	}
	c.in.R, c.in.Size = all, end
}
