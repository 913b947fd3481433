package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"ctxan/report/lang"
)

// script is the script of the page with its texts in the language of the page.
// In the source of the script a text is phrase("of %s", name), as it is Say in
// ours. Here that becomes the chain "of " + name, so that the page carries no
// catalogue, and its policy lets exactly this script run.
func (h *htmlReport) script() (string, error) {
	src, err := htmlFiles.ReadFile("html/report.js")
	if err != nil {
		return "", err
	}
	return h.opt.phrases(string(src))
}

// style is the style of the page.
func (h *htmlReport) style() (string, error) {
	src, err := htmlFiles.ReadFile("html/style.css")
	return string(src), err
}

const phraseCall = "phrase("

// phrases puts the texts of a script into the language of the report.
func (o Options) phrases(src string) (string, error) {
	var b strings.Builder
	for {
		before, call, ok := strings.Cut(src, phraseCall)
		b.WriteString(before)
		if !ok {
			return b.String(), nil
		}
		args, rest, err := jsArgs(call)
		if err != nil {
			return "", err
		}
		chain, err := o.phraseChain(args)
		if err != nil {
			return "", err
		}
		b.WriteString(chain)
		src = rest
	}
}

// jsArgs takes the arguments of a call apart, from behind its bracket; rest is
// what follows the call. Arguments hold no other strings than "...".
func jsArgs(s string) (args []string, rest string, err error) {
	from, depth, quoted := 0, 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ',' && depth == 0:
			args = append(args, strings.TrimSpace(s[from:i]))
			from = i + 1
		case c == ')' && depth == 0:
			return append(args, strings.TrimSpace(s[from:i])), s[i+1:], nil
		case c == ')':
			depth--
		}
	}
	return nil, "", errors.New("report: a phrase of the script has no end")
}

// phraseChain writes a format and its arguments as texts joined by +.
func (o Options) phraseChain(args []string) (string, error) {
	format, err := strconv.Unquote(args[0])
	if err != nil {
		return "", fmt.Errorf("report: %s is no text of the script", args[0])
	}
	pieces, takes, _ := lang.CutFormat(o.fragment(format))
	var parts []string
	for i, piece := range pieces {
		if piece != "" || len(pieces) == 1 {
			text, err := json.Marshal(piece) // also inert in a script element
			if err != nil {
				return "", err
			}
			parts = append(parts, string(text))
		}
		if i == len(takes) {
			break
		}
		if takes[i] >= len(args)-1 {
			return "", fmt.Errorf("report: %s takes more than it is given", args[0])
		}
		arg, err := o.phrases(args[takes[i]+1])
		if err != nil {
			return "", err
		}
		parts = append(parts, arg)
	}
	return strings.Join(parts, " + "), nil
}

// fragment translates a text that another may stand before: one that begins with
// a blank goes on behind a value, and is in the catalogue behind a verb.
func (o Options) fragment(en string) string {
	if o.Lang == nil {
		return en
	}
	if strings.TrimSpace(en) == "" {
		return o.space()
	}
	if strings.HasPrefix(en, " ") {
		for _, verb := range []string{"%s", "%d"} {
			if s := o.Lang.Format(verb + en); s != verb+en && strings.HasPrefix(s, verb) {
				return s[len(verb):]
			}
		}
	}
	return o.Lang.Format(en)
}
