package report

import (
	"html/template"
	"strings"

	"ctxan/analyze"
)

// htmlProse writes a text of ours, which may hold what came in from a capture,
// so that a browser takes it for plain characters. Escapes stand in a box.
func htmlProse(s string) template.HTML { return htmlUnits(proseUnits(s, false)) }

// htmlName writes a name from a capture: cut to w columns, with the whole in a
// title, and apart from the text around it, whatever its direction.
func htmlName(s string, w int) template.HTML {
	if s == "" {
		return absent
	}
	short := fitName(s, w, false)
	open := "<bdi>"
	if whole := wholeName(s); unitsString(short) != whole {
		open = `<bdi title="` + template.HTMLEscapeString(whole) + `">`
	}
	return template.HTML(open) + htmlUnits(short) + "</bdi>"
}

// mostName is how much of a name is carried along in full.
const mostName = 1024

// wholeName is a name as plain characters, cut only where it is of no use to
// anybody any more.
func wholeName(s string) string {
	return unitsString(cutUnits(nameUnits(s, false), mostName, "…"))
}

// htmlCode is a name set as code.
func htmlCode(s string, w int) template.HTML { return "<code>" + htmlName(s, w) + "</code>" }

// htmlText writes a text with its names.
func htmlText(t analyze.Text) template.HTML {
	return htmlSet(t, func(s string) template.HTML { return htmlCode(s, maxName) })
}

// htmlSet writes a text with its names in a way of their own.
func htmlSet(t analyze.Text, name func(string) template.HTML) template.HTML {
	return template.HTML(t.Set(func(s string) string { return string(htmlProse(s)) }, func(s string) string { return string(name(s)) }))
}

// capital begins a label of ours with a capital letter, where the language has them:
// in others a Latin letter begins a name.
func (h *htmlReport) capital(s string) string {
	if h.opt.Lang != nil {
		return s
	}
	return capital(s)
}

// sentence is a text that stands by itself: it begins with a capital letter,
// unless it begins with a name.
func (h *htmlReport) sentence(t analyze.Text) template.HTML {
	if len(t) == 0 || t[0].Code {
		return htmlText(t)
	}
	first := analyze.Span{S: h.capital(t[0].S)}
	return htmlText(append(analyze.Text{first}, t[1:]...))
}

// htmlTextIn is a text whose names are cut to w columns, and not set as code.
func htmlTextIn(t analyze.Text, w int) template.HTML {
	return htmlSet(t, func(s string) template.HTML { return htmlName(s, w) })
}

// htmlUnits writes characters, runs of escapes each in a box.
func htmlUnits(us []unit) template.HTML {
	var b strings.Builder
	for i := 0; i < len(us); {
		j := i
		for j < len(us) && us[j].esc == us[i].esc {
			j++
		}
		s := template.HTMLEscapeString(unitsString(us[i:j]))
		if us[i].esc {
			s = `<span class="esc">` + s + `</span>`
		}
		b.WriteString(s)
		i = j
	}
	return template.HTML(b.String())
}

// htmlCommand writes a command so that it runs as printed when it is copied: on
// one line, broken only between its words.
func htmlCommand(line string) template.HTML {
	var b strings.Builder
	for i, w := range shellWords(strings.TrimSpace(line)) {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString("<span>" + string(htmlUnits(nameUnits(w, false))) + "</span>")
	}
	return template.HTML(b.String())
}

// list joins names.
func (h *htmlReport) list(names []string) template.HTML {
	var b strings.Builder
	for i, n := range names {
		if i > 0 {
			b.WriteString(h.say(", "))
		}
		b.WriteString(string(htmlName(n, maxName)))
	}
	return template.HTML(b.String())
}

// plainText is a text as one line of plain characters, for titles and labels,
// which the template escapes.
func plainText(t analyze.Text) string {
	return t.Set(inert, shown)
}
