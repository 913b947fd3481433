package pidstat

import (
	"strconv"
	"strings"

	"ctxan/parse/evidence"
)

// banner is the first line of every sysstat tool.
type banner struct {
	host evidence.Host
	date string
}

// parseBanner reads "Linux RELEASE (HOST) \tDATE \t_ARCH_\t(N CPU)", the date in
// any locale's form. Old versions print neither architecture nor CPUs, and a
// paste may break the line before the date: next is the line that follows.
//
// Layout: print_gal_header in sysstat's common.c.
func parseBanner(line, next string) (banner, bool) {
	if !strings.HasPrefix(line, "Linux ") {
		return banner{}, false
	}
	words := strings.Fields(line)
	if len(words) < 3 || !inParens(words[2]) {
		return banner{}, false
	}
	var b banner
	b.host.Release, b.host.Name = words[1], words[2][1:len(words[2])-1]
	rest := words[3:]
	if len(rest) == 0 {
		rest = strings.Fields(next)
	}
	if len(rest) == 0 || !hasDigit(rest[0]) {
		return b, true
	}
	var date []string
	for i, w := range rest {
		switch n, isCPUs := strings.CutPrefix(w, "("); {
		case isCPUs && i+1 < len(rest) && strings.HasPrefix(rest[i+1], "CPU"):
			if cpus, err := strconv.Atoi(n); err == nil && cpus > 0 {
				b.host.CPUs = evidence.Some(cpus)
			}
		case len(w) > 2 && w[0] == '_' && w[len(w)-1] == '_':
			b.host.Arch = w[1 : len(w)-1]
		case b.host.Arch == "" && len(date) < 3:
			date = append(date, w)
		}
	}
	b.date = strings.Join(date, " ")
	return b, true
}

func inParens(w string) bool { return len(w) > 2 && w[0] == '(' && w[len(w)-1] == ')' }

// command is a pidstat command line seen in a paste.
type command struct {
	line       string // from the word pidstat on
	activities string // the letters of its options
	piped      bool   // through something that drops or reorders rows
	sinceBoot  bool   // no interval: the rates are means since boot
	target     evidence.Target
}

// parseCommand reads a line with a prompt, or one that starts with the command.
func parseCommand(line string) (command, bool) {
	i := commandStart(line)
	if i < 0 {
		return command{}, false
	}
	line = strings.TrimSpace(line[i:])
	args, pipe, piped := strings.Cut(line, "|")
	c := command{line: line, piped: piped && reorders(pipe)}
	args, _, _ = strings.Cut(args, "#")
	c.options(strings.Fields(args)[1:])
	return c, true
}

// commandStart finds the word pidstat where a command stands: first on the
// line, after a prompt, or after words that run a command.
func commandStart(line string) int {
	i := strings.Index(line, "pidstat")
	if i < 0 {
		return -1
	}
	if rest := line[i+len("pidstat"):]; rest != "" && rest[0] != ' ' {
		return -1
	}
	before := line[:i]
	if strings.HasSuffix(before, "/") {
		before = before[:strings.LastIndexByte(before, ' ')+1]
	}
	words := strings.Fields(before)
	for n := len(words) - 1; n >= 0; n-- {
		w := words[n]
		switch {
		case strings.ContainsRune("$#%>", rune(w[len(w)-1])):
			return i // a prompt, whatever it says of the host
		case w == "sudo" || w == "time" || w == "env" || strings.Contains(w, "="):
		default:
			return -1
		}
	}
	return i
}

// reorders reports whether a pipe leaves the order of the rows, or rows, out.
func reorders(pipe string) bool {
	for _, stage := range strings.Split(pipe, "|") {
		switch w, _ := nextWord(stage); w {
		case "tee", "cat", "less", "more", "head", "tail":
		default:
			return true
		}
	}
	return false
}

// options reads pidstat's options as far as they say what was watched.
func (c *command) options(args []string) {
	c.sinceBoot, c.target.Kind = true, evidence.TargetSystem
	for i := 0; i < len(args); i++ {
		a := args[i]
		value := ""
		if i+1 < len(args) {
			value = args[i+1]
		}
		switch {
		case a == "-e":
			c.sinceBoot = false
			c.target = evidence.Target{Kind: evidence.TargetCommand, Name: strings.Join(args[i+1:], " ")}
			return
		case a == "-p":
			c.pids(value)
			i++
		case a == "-C" || a == "-G":
			c.target = evidence.Target{Name: value} // by name: which processes is not said
			i++
		case a == "-T" || a == "-o" || (a == "-U" && isName(value)):
			i++
		case strings.HasPrefix(a, "-"):
			if !strings.HasPrefix(a, "--") {
				c.activities += a[1:]
			}
		case allDigits(a):
			c.sinceBoot = false
		}
	}
}

// isName reports whether the word after -U is its optional user name.
func isName(w string) bool { return w != "" && w[0] != '-' && !allDigits(w) }

// pids reads the list of -p.
func (c *command) pids(list string) {
	var ids []int
	for _, w := range strings.Split(list, ",") {
		if id, ok := parseID(w); ok {
			ids = append(ids, id)
		}
	}
	switch {
	case len(ids) > 0:
		c.target = evidence.Target{Kind: evidence.TargetProcess, IDs: ids}
	case list != "ALL":
		c.target = evidence.Target{} // SELF, or a shell variable
	}
}

// onlySwitches reports whether the command prints no table but the rates.
func (c *command) onlySwitches() bool {
	return strings.Contains(c.activities, "w") && !strings.ContainsAny(c.activities, "urdsvRIT")
}

// isPrompt reports whether a line is a shell prompt with a command.
func isPrompt(line string) bool {
	w, rest := nextWord(line)
	if strings.TrimSpace(rest) == "" {
		return false
	}
	switch {
	case w == "$" || w == "#" || w == "%":
		return true
	case strings.HasPrefix(w, "[") && !strings.HasSuffix(w, "]"): // [root@host dir]# command
		return strings.Contains(rest, "]# ") || strings.Contains(rest, "]$ ")
	}
	return len(w) > 1 && strings.ContainsAny(w, "@~:") && strings.ContainsAny(w[len(w)-1:], "$#%")
}
