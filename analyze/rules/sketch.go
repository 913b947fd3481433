package rules

import (
	"regexp"
	"strings"

	"ctxan/analyze"
)

// The languages that sketches are written in.
const (
	langC      = "c"
	langCPP    = "c++"
	langGo     = "go"
	langJava   = "java"
	langRust   = "rust"
	langPython = "python"
)

var rustHash = regexp.MustCompile(`::h[0-9a-f]{16}$`)

// language tells the program's language from the symbols and calls that the
// captures name; "" when they do not tell.
func language(f *analyze.Facts) string {
	for _, r := range append(append([]analyze.ReasonFact{}, f.Blocking...), f.CPU...) {
		if l := languageOfAPI(r.API); l != "" {
			return l
		}
	}
	votes, best := map[string]float64{}, ""
	for i := range f.Callers {
		l := languageOf(f.Callers[i].Symbol)
		votes[l] += f.Callers[i].Share
		if l != "" && (best == "" || votes[l] > votes[best]) {
			best = l
		}
	}
	return best
}

func languageOfAPI(api string) string {
	switch {
	case strings.HasPrefix(api, "std::this_thread") || strings.HasPrefix(api, "std::mutex"):
		return langCPP
	case strings.HasPrefix(api, "runtime.") || api == "goroutine scheduler":
		return langGo
	case strings.HasPrefix(api, "java.") || strings.HasPrefix(api, "LockSupport") || strings.HasPrefix(api, "ObjectMonitor") || api == "Thread.sleep":
		return langJava
	case api == "std::thread::sleep" || api == "Mutex::lock" || api == "Condvar::wait" || api == "thread::park":
		return langRust
	case api == "time.sleep" || api == "take_gil" || strings.HasPrefix(api, "threading"):
		return langPython
	}
	return ""
}

func languageOf(symbol string) string {
	switch {
	case rustHash.MatchString(symbol):
		return langRust
	case strings.HasPrefix(symbol, "main.") || strings.Contains(symbol, ".(*"):
		return langGo
	case strings.HasPrefix(symbol, "L") && strings.Contains(symbol, ";::"):
		return langJava
	case strings.Contains(symbol, "::"):
		return langCPP
	case symbol == "" || strings.ContainsAny(symbol, "[]. "):
		return ""
	}
	return langC
}

// pick returns the sketch in the program's language; "" when there is none.
func pick(f *analyze.Facts, by map[string]string) (sketch, lang string) {
	l := language(f)
	return by[l], l
}

// waitSketches turn a sleeping poll into a wait for the event.
var waitSketches = map[string]string{
	langCPP: `// sketch: wait until there is work, not for a time
- poll_once();
- std::this_thread::sleep_for(interval);
+ std::unique_lock<std::mutex> lock(m_);
+ ready_.wait(lock, [&] { return pending_ > 0 || stop_; });
+ drain();`,
	langC: `/* sketch: wait until there is work, not for a time */
- poll_once();
- usleep(interval);
+ pthread_mutex_lock(&m);
+ while (!pending && !stop)
+     pthread_cond_wait(&ready, &m);
+ drain();
+ pthread_mutex_unlock(&m);`,
	langGo: `// sketch: wait until there is work, not for a time
- pollOnce()
- time.Sleep(interval)
+ select {
+ case job := <-jobs:
+     handle(job)
+ case <-ctx.Done():
+     return
+ }`,
	langJava: `// sketch: wait until there is work, not for a time
- pollOnce();
- LockSupport.parkNanos(interval);
+ Job job = queue.take();
+ handle(job);`,
	langRust: `// sketch: wait until there is work, not for a time
- poll_once();
- std::thread::sleep(interval);
+ let job = jobs.recv()?;
+ handle(job);`,
	langPython: `# sketch: wait until there is work, not for a time
- poll_once()
- time.sleep(interval)
+ job = jobs.get()
+ handle(job)`,
}
