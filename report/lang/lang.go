// Package lang says the texts of reports in other languages than English.
//
// There is one catalogue a language, zh.po in the format of gettext: the English
// text, which is the format of Textf or Say or what the program puts together by
// itself, and its counterpart. Where English is put together with + or Sprintf and
// handed on as a string, the entry is a pattern: what stands at a verb is
// translated by itself.
package lang

import (
	_ "embed"
	"fmt"
	"sync"

	"golang.org/x/text/language"
)

//go:embed zh.po
var zhSource string

// Names are the languages that reports can be in, the default first.
var Names = []string{"en", "zh"}

var matcher = language.NewMatcher([]language.Tag{language.English, language.Chinese})

// For returns the catalogue of a language, named as Names do or by any tag that
// matches one (zh-CN). English has none: nil. Traditional characters are not
// here, so that zh-Hant and its regions are an error, as any other language is.
func For(name string) (*Catalogue, error) {
	tag, err := language.Parse(name)
	if name == "" || err != nil {
		return nil, fmt.Errorf("%q is no name of a language", name)
	}
	switch _, at, sure := matcher.Match(tag); {
	case sure < language.High:
		return nil, fmt.Errorf("reports are not in %s", name)
	case at == 0:
		return nil, nil
	}
	return zh(), nil
}

// zh is the Chinese catalogue, read at its first use.
var zh = sync.OnceValue(func() *Catalogue {
	c, err := read(zhSource)
	if err != nil {
		panic(err) // the data is part of the program; a test reads it
	}
	return c
})
