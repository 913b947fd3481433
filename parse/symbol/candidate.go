package symbol

import (
	"encoding/hex"
	"path"
	"slices"
	"strings"
)

// candidate is a file that may be the one a capture means.
type candidate struct {
	place *place
	name  string // absolute in the place
	exact bool   // it has the whole recorded path, or is named by build-id
	vdso  bool   // this process's own vdso instead
}

func (c candidate) String() string {
	if c.vdso {
		return "[vdso] of this machine"
	}
	return path.Join(c.place.dir, c.name)
}

func (c candidate) open() (*file, string) {
	if !c.vdso {
		return c.place.open(c.name)
	}
	f, err := ownVDSO()
	if err != nil {
		return nil, WhyMissing
	}
	return f, ""
}

// maxSuffixes bounds how many ends of a path are looked for below --symfs.
const maxSuffixes = 16

// candidates lists where the file of a mapping may be, best first. This
// machine's own files are among them only when there is a build-id to check.
func (r *Resolver) candidates(m *Mapping) []candidate {
	var out []candidate
	add := func(p *place, exact bool, names ...string) {
		for _, n := range names {
			if p != nil && !pseudo(n) {
				out = append(out, candidate{place: p, name: n, exact: exact})
			}
		}
	}
	name := strings.TrimSuffix(m.Path, deleted)
	ids := idNames(m.BuildID)
	if ends := suffixes(name); m.Path != "[vdso]" && len(ends) > 0 {
		add(r.symfs, true, ends[0])
		add(r.symfs, false, ends[1:]...)
	}
	add(r.symfs, true, ids...)
	if len(m.BuildID) == 0 {
		return out
	}
	if path.IsAbs(name) {
		add(r.host, true, name)
	}
	add(r.host, true, ids...)
	add(r.home, true, homeNames(m.BuildID)...)
	if m.Path == "[vdso]" && r.host != nil {
		out = append(out, candidate{place: r.host, vdso: true})
	}
	return out
}

// suffixes lists a path and its ends, longest first: /a/b/c, /b/c, /c.
func suffixes(name string) []string {
	name = path.Clean("/" + name)
	var out []string
	for name != "" && name != "/" {
		out = append(out, name)
		i := strings.IndexByte(name[1:], '/')
		if i < 0 {
			break
		}
		name = name[1+i:]
	}
	if len(out) > maxSuffixes {
		out = slices.Concat(out[:maxSuffixes-1], out[len(out)-1:])
	}
	return out
}

// split cuts a build-id as folders of build-ids do: ab/cdef….
func split(id []byte) (dir, rest string, ok bool) {
	if len(id) < 2 {
		return "", "", false
	}
	h := hex.EncodeToString(id)
	return h[:2], h[2:], true
}

// idNames lists where a folder of build-ids has a file: the distributions'
// debug packages, and perf's cache or an unpacked perf archive.
func idNames(id []byte) []string {
	a, b, ok := split(id)
	if !ok {
		return nil
	}
	cache := "/.build-id/" + a + "/" + b
	return []string{cache + "/elf", cache + "/vdso", cache, "/.debug" + cache + "/elf", "/.debug" + cache + "/vdso",
		"/usr/lib/debug" + cache + ".debug", cache + ".debug", cache + "/debug"}
}

// homeNames is idNames for the caches in a user's home: perf's and debuginfod's.
func homeNames(id []byte) []string {
	a, b, ok := split(id)
	if !ok {
		return nil
	}
	perf, dbg := "/.debug/.build-id/"+a+"/"+b, "/.cache/debuginfod_client/"+a+b
	return []string{perf + "/elf", perf + "/vdso", perf, perf + "/debug", dbg + "/executable", dbg + "/debuginfo"}
}

// debugFiles lists where the separate debug file of an image may be.
func (r *Resolver) debugFiles(img *image, c candidate) []candidate {
	var out []candidate
	add := func(p *place, names ...string) {
		for _, n := range names {
			if p != nil {
				out = append(out, candidate{place: p, name: n})
			}
		}
	}
	add(r.symfs, idNames(img.id)...)
	if len(img.id) > 0 {
		add(r.host, idNames(img.id)...)
		add(r.home, homeNames(img.id)...)
	}
	if img.link.name != "" && !c.vdso {
		dir := path.Dir(path.Clean("/" + c.name))
		add(c.place, path.Join(dir, img.link.name), path.Join(dir, ".debug", img.link.name),
			path.Join("/usr/lib/debug", dir, img.link.name))
	}
	return slices.DeleteFunc(out, func(d candidate) bool { return d.String() == c.String() })
}
