package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"
	"strings"
	"sync"

	"ctxan/analyze"
)

//go:embed html
var htmlFiles embed.FS

// englishPage is the page in English, parsed once.
var englishPage = sync.OnceValue(func() *template.Template { return parsePage(Options{}) })

// pageTemplate is the page in the language of the report. html/template escapes
// every string by the place where it stands, also what say comes to.
func pageTemplate(opt Options) *template.Template {
	if opt.Lang == nil {
		return englishPage()
	}
	return parsePage(opt)
}

func parsePage(opt Options) *template.Template {
	t := template.New("").Funcs(template.FuncMap{"say": opt.Say, "space": opt.space})
	return template.Must(t.ParseFS(htmlFiles, "html/*.tmpl"))
}

// htmlReport sets one result as a page.
type htmlReport struct {
	r   *analyze.Result // in the language of the page
	c   *analyze.Case
	opt Options

	figureOf map[analyze.Evidence]string // where on the page a figure of a capture is shown
	sourceAt map[int]bool
}

// htmlPage is what the template lays out. Parts without data are nil or empty.
type htmlPage struct {
	Lang       string
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
// zooming and searching. The order is that of [Text]. Of Options only Lang and
// More matter.
func HTML(w io.Writer, r *analyze.Result, opt Options) error {
	r = opt.In(r)
	c, err := primary(r)
	if err != nil {
		return err
	}
	h := &htmlReport{r: r, c: c, opt: opt}
	h.anchors()
	p, err := h.page()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := pageTemplate(opt).ExecuteTemplate(&b, "page.tmpl", p); err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

// say translates a text of ours that is put together already, sayf a format.
func (h *htmlReport) say(s string) string { return h.opt.say(s) }

func (h *htmlReport) sayf(format string, args ...any) string { return h.opt.Say(format, args...) }

// prose writes a text of ours in the language of the page.
func (h *htmlReport) prose(s string) template.HTML { return htmlProse(h.say(s)) }

// text writes a text that the page makes; those of the result are translated.
func (h *htmlReport) text(t analyze.Text) template.HTML { return htmlText(h.opt.text(t)) }

// titled is an id, which stays, and what is said of it behind the first comma.
func (h *htmlReport) titled(s string) string {
	id, rest, ok := strings.Cut(s, ", ")
	if !ok {
		return id
	}
	return id + h.say(", "+rest)
}

func (h *htmlReport) page() (*htmlPage, error) {
	style, err := h.style()
	if err != nil {
		return nil, err
	}
	script, err := h.script()
	if err != nil {
		return nil, err
	}
	p := &htmlPage{Lang: h.opt.Lang.Tag(), Title: plainText(h.opt.text(h.c.Subject.Name())) + h.say(": ") + h.titled(verdictLine(&h.c.Verdict)), Policy: policy(script),
		Style: template.CSS(style), Script: template.JS(script), Identity: htmlTextIn(h.opt.text(identity(h.c)), maxName),
		Verdict: h.verdict(), Chain: h.chain(), Advice: h.advice(), Macro: h.macro(), Threads: h.threads(), Stacks: h.stacks(),
		Findings: h.findings(), Checks: h.checks(), Sources: h.sources(), Others: h.others(), OthersHint: h.say(othersHint)}
	if cannotTell(&h.c.Verdict) {
		p.Candidates = h.candidates()
	} else {
		p.Rejected = h.rejected()
	}
	for _, s := range h.opt.More {
		p.More = append(p.More, htmlCommand(s))
	}
	if p.Stacks != nil {
		p.FlameData = p.Stacks.data
	}
	p.Nav = h.nav(p)
	return p, nil
}

// policy lets the page run its own script and nothing else: not even what a
// name from a capture could bring in, should it get past the escaping.
func policy(script string) string {
	sum := sha256.Sum256([]byte(script))
	return "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; script-src 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// nav lists the sections that the page has.
func (h *htmlReport) nav(p *htmlPage) []htmlNav {
	var out []htmlNav
	add := func(has bool, id, name string) {
		if has {
			out = append(out, htmlNav{id, name})
		}
	}
	add(p.Chain != nil, "chain", h.say("Chain"))
	add(p.Candidates != nil, "candidates", h.say("Candidates"))
	add(len(p.Advice) > 0, "advice", h.say("Advice"))
	add(p.Macro != nil, "l1", h.say("Macro"))
	add(p.Threads != nil, "l2", h.say("Threads"))
	add(p.Stacks != nil, "l3", h.say("Stacks"))
	add(p.Findings != nil, "findings", h.say("Findings"))
	add(len(p.Rejected) > 0, "rejected", h.say("Rejected"))
	add(p.Checks != nil, "checks", h.say("Checks"))
	add(p.Sources != nil, "sources", h.say("Sources"))
	add(len(p.Others) > 0, "others", h.say("Other subjects"))
	return out
}
