package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"
	"sync"

	"ctxan/analyze"
)

//go:embed html
var htmlFiles embed.FS

// pageTemplate is the page, parsed once: html/template escapes every string by
// the place where it stands.
var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.ParseFS(htmlFiles, "html/*.tmpl"))
})

// htmlReport sets one result as a page.
type htmlReport struct {
	r *analyze.Result
	c *analyze.Case

	figureOf map[analyze.Evidence]string // where on the page a figure of a capture is shown
	sourceAt map[int]bool
}

// htmlPage is what the template lays out. Parts without data are nil or empty.
type htmlPage struct {
	Title      string
	Policy     string
	Style      template.CSS
	Script     template.JS
	Identity   template.HTML
	Nav        []htmlNav
	Verdict    htmlVerdict
	Chain      *htmlChain
	Candidates *htmlCandidates
	Advice     []htmlAdvice
	Macro      *htmlMacro
	Threads    *htmlThreads
	Stacks     *htmlStacks
	Findings   *htmlFindings
	Rejected   []htmlRival
	Checks     *htmlChecks
	Sources    *htmlSources
	Others     []htmlOther
	OthersHint string
	More       []template.HTML
	FlameData  template.JS
}

// htmlNav is a link to a section.
type htmlNav struct{ ID, Name string }

// HTML writes the report of the primary case as one page that needs nothing
// else: no network, no other file, and no JavaScript for anything but sorting,
// zooming and searching. The order is that of [Text]. Of Options only More
// matters.
func HTML(w io.Writer, r *analyze.Result, opt Options) error {
	c, err := primary(r)
	if err != nil {
		return err
	}
	h := &htmlReport{r: r, c: c}
	h.anchors()
	p, err := h.page(opt)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := pageTemplate().ExecuteTemplate(&b, "page.tmpl", p); err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

func (h *htmlReport) page(opt Options) (*htmlPage, error) {
	style, err := htmlFiles.ReadFile("html/style.css")
	if err != nil {
		return nil, err
	}
	script, err := htmlFiles.ReadFile("html/report.js")
	if err != nil {
		return nil, err
	}
	p := &htmlPage{Title: plainText(h.c.Subject.Name()) + ": " + verdictLine(&h.c.Verdict), Policy: policy(script),
		Style: template.CSS(style), Script: template.JS(script), Identity: htmlTextIn(identity(h.c), maxName),
		Verdict: h.verdict(), Chain: h.chain(), Advice: h.advice(), Macro: h.macro(), Threads: h.threads(), Stacks: h.stacks(),
		Findings: h.findings(), Checks: h.checks(), Sources: h.sources(), Others: h.others(), OthersHint: othersHint}
	if cannotTell(&h.c.Verdict) {
		p.Candidates = h.candidates()
	} else {
		p.Rejected = h.rejected()
	}
	for _, s := range opt.More {
		p.More = append(p.More, htmlCommand(s))
	}
	if p.Stacks != nil {
		p.FlameData = p.Stacks.data
	}
	p.Nav = p.nav()
	return p, nil
}

// policy lets the page run its own script and nothing else: not even what a
// name from a capture could bring in, should it get past the escaping.
func policy(script []byte) string {
	sum := sha256.Sum256(script)
	return "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; script-src 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// nav lists the sections that the page has.
func (p *htmlPage) nav() []htmlNav {
	var out []htmlNav
	add := func(has bool, id, name string) {
		if has {
			out = append(out, htmlNav{id, name})
		}
	}
	add(p.Chain != nil, "chain", "Chain")
	add(p.Candidates != nil, "candidates", "Candidates")
	add(len(p.Advice) > 0, "advice", "Advice")
	add(p.Macro != nil, "l1", "Macro")
	add(p.Threads != nil, "l2", "Threads")
	add(p.Stacks != nil, "l3", "Stacks")
	add(p.Findings != nil, "findings", "Findings")
	add(len(p.Rejected) > 0, "rejected", "Rejected")
	add(p.Checks != nil, "checks", "Checks")
	add(p.Sources != nil, "sources", "Sources")
	add(len(p.Others) > 0, "others", "Other subjects")
	return out
}
