// The page is whole without this: it adds copying, sorting, and moving around
// in the flame graphs. Text from captures is only ever set as text.
(function () {
  "use strict";
  var doc = document, NB = "\u00a0";
  doc.documentElement.classList.add("js");

  function make(tag, cls, text) {
    var e = doc.createElement(tag);
    if (cls) e.className = cls;
    if (text !== undefined) e.textContent = text;
    if (tag === "button") e.type = "button";
    return e;
  }
  function all(root, sel) { return Array.prototype.slice.call(root.querySelectorAll(sel)); }

  // Numbers as the other formats write them (package quantity).
  function fixed(v, d) {
    var s = v.toFixed(d), y = v * Math.pow(10, d);
    if (y % 1 === 0.5 && v * Math.pow(2, d + 1) % 1 === 0) { // toFixed rounds a tie up, Go to even
      var even = 2 * Math.round(y / 2);
      s = (even / Math.pow(10, d)).toFixed(d);
    }
    var p = s.split(".");
    p[0] = p[0].replace(/\B(?=(\d{3})+$)/g, ",");
    return p.join(".");
  }
  function whole(v) {
    if (v > 0 && v < 0.5) return String(Number(v.toPrecision(1)));
    return fixed(v, 0);
  }
  function sig(v, n) {
    if (v === 0) return "0";
    var d = n - 1 - Math.floor(Math.log10(v)), r = Math.pow(10, d);
    if (d >= 0 && d < 12 && Math.round(v * r) / r >= Math.pow(10, n - d)) d--;
    return fixed(v, Math.min(Math.max(d, 0), 12));
  }
  function time(ns) {
    var units = [["ns", 1], ["µs", 1e3], ["ms", 1e6], ["s", 1e9]], u = units[0];
    units.forEach(function (t) { if (ns >= t[1] * (1 - 0.5e-3)) u = t; });
    return (u[1] === 1 ? fixed(ns, 0) : sig(ns / u[1], 3)) + NB + u[0];
  }
  function percent(f) {
    var p = f * 100;
    if (p > 0 && p < 0.005) return "<0.01" + NB + "%";
    if (p < 100 && p >= 99.995) return ">99.99" + NB + "%";
    return fixed(p, f === 0 || f === 1 ? 0 : 2) + NB + "%";
  }
  function weight(v, unit) {
    if (unit === "ns") return time(v);
    if (unit === "switches") { var s = whole(v); return s + (s === "1" ? phrase(" switch") : phrase(" switches")); }
    return "";
  }

  // Commands can be copied.
  all(doc, ".cmd").forEach(function (cmd) {
    var code = cmd.querySelector("code"), b = make("button", "copy", phrase("Copy"));
    b.setAttribute("aria-label", phrase("Copy command"));
    function done() {
      b.textContent = phrase("Copied");
      setTimeout(function () { b.textContent = phrase("Copy"); }, 1500);
    }
    function select() {
      var range = doc.createRange(), s = window.getSelection();
      range.selectNodeContents(code);
      s.removeAllRanges();
      s.addRange(range);
      try { if (doc.execCommand("copy")) done(); } catch (e) { /* it stays selected */ }
    }
    b.addEventListener("click", function () {
      if (navigator.clipboard && window.isSecureContext) navigator.clipboard.writeText(code.textContent).then(done, select);
      else select();
    });
    cmd.appendChild(b);
  });

  // The table of threads can be sorted by any column.
  var table = doc.getElementById("threadtable");
  if (table) all(table, "th[data-k]").forEach(function (th) {
    var b = make("button", "", th.textContent);
    th.textContent = "";
    th.appendChild(b);
    b.addEventListener("click", function () {
      var col = th.cellIndex, down = th.getAttribute("aria-sort") !== "descending", body = table.tBodies[0];
      all(table, "th").forEach(function (x) { x.removeAttribute("aria-sort"); });
      th.setAttribute("aria-sort", down ? "descending" : "ascending");
      function key(row) {
        var c = row.cells[col], s = c.getAttribute("data-s");
        return s === null ? c.textContent : s;
      }
      var numbers = Array.prototype.every.call(body.rows, function (r) { return key(r) !== "" && !isNaN(key(r)); });
      Array.prototype.slice.call(body.rows).sort(function (p, q) {
        var a = key(p), z = key(q), n = numbers ? a - z : a < z ? -1 : a > z ? 1 : 0;
        return down ? -n : n;
      }).forEach(function (r) { body.appendChild(r); });
    });
  });

  // What a link leads to may be folded away.
  function unfold() {
    var t = location.hash.length > 1 && doc.getElementById(decodeURIComponent(location.hash.slice(1))), box = doc.getElementById("allrows");
    if (!t) return;
    if (box && !box.checked && t.tagName === "TR" && t.offsetParent === null) {
      box.checked = true;
      t.scrollIntoView();
    }
  }
  window.addEventListener("hashchange", unfold);
  unfold();

  // Flame graphs: the static ones are drawn again from their data, in the same
  // form, whenever they are zoomed, filtered or searched.
  var source = doc.getElementById("flames");
  if (!source) return;
  JSON.parse(source.textContent).forEach(function (data) {
    var pane = doc.querySelector('[data-flame="' + data.id + '"]');
    if (pane) flame(data, pane);
  });

  function flame(data, pane) {
    var box = pane.querySelector(".fl"), say = pane.querySelector(".say"), find = pane.querySelector("input"), pick = pane.querySelector("select");
    var ROW = 20, CHAR = 6.8, root, zoom;

    // build makes the tree of one thread, or of all.
    function build() {
      var thread = pick && pick.value !== "" ? Number(pick.value) : -1;
      root = { name: data.whole, kind: "k", depth: 0, w: 0, kids: [], up: null };
      var path = [root];
      data.nodes.forEach(function (n) {
        var w = n[2];
        if (thread >= 0) {
          w = 0;
          for (var i = 3; i < n.length; i += 2) if (n[i] === thread) w = n[i + 1];
        }
        path.length = n[0];
        var up = path[n[0] - 1], t = { name: data.names[n[1]], kind: data.kinds[n[1]], depth: n[0], w: w, kids: [], up: up };
        path.push(t);
        if (w > 0) up.kids.push(t);
      });
      root.w = thread < 0 ? data.total : data.threads[thread];
      if (thread >= 0) {
        root.name = pick.options[pick.selectedIndex].textContent + phrase(", all");
        (function sort(t) { t.kids.sort(function (a, b) { return b.w - a.w; }); t.kids.forEach(sort); })(root);
      }
      zoom = root;
    }

    function figures(t) {
      var s = weight(t.w, data.unit);
      return t.name + phrase(": ") + (s ? s + phrase(", ") : "") + percent(t.w / root.w);
    }
    function tell(t) {
      var rest = t.kids.reduce(function (w, k) { return w - k.w; }, t.w), s = figures(t);
      if (t.up) s += phrase(" of %s; itself %s", root.name, percent(Math.max(rest, 0) / root.w));
      if (t.up && t.up.up) s += phrase("; called by %s", t.up.name);
      say.textContent = s;
    }
    function label(name, px) {
      var room = Math.floor((px - 8) / CHAR);
      if (room < 2) return "";
      if (name.length <= room) return name;
      if (room < 5) return "";
      for (var parts = name.split("::"); parts.length > 1;) {
        parts.shift();
        var s = "…::" + parts.join("::");
        if (s.length <= room) return s;
        name = parts.join("::");
      }
      if (name.length <= room) return name;
      var head = Math.ceil((room - 1) / 2), tail = room - 1 - head;
      return name.slice(0, head) + "…" + (tail > 0 ? name.slice(-tail) : "");
    }

    // draw puts the zoomed frame across the whole width, with its callers above.
    function draw(focus) {
      var list = doc.createDocumentFragment(), word = find.value.trim().toLowerCase(), px = box.clientWidth || 904;
      var deepest = 0, narrow = 0, found = 0;
      function matches(t) { return word !== "" && t.up !== null && t.name.toLowerCase().indexOf(word) >= 0; }
      function put(t, x, w, caller) {
        var b = make("button", t.kind), hit = matches(t);
        b.className += hit ? " hit" : caller ? " anc" : word && t.up ? " dim" : "";
        b.textContent = label(t.name, w * px);
        if (!b.textContent) b.className += " th";
        b.style.left = (x * 100).toFixed(3) + "%";
        b.style.width = (w * 100).toFixed(3) + "%";
        b.style.top = t.depth * ROW + "px";
        b.title = figures(t);
        b.setAttribute("aria-label", figures(t));
        b.tabIndex = -1;
        b.node = t;
        t.box = b;
        deepest = Math.max(deepest, t.depth);
        list.appendChild(b);
      }
      function down(t, x, w, inside) {
        put(t, x, w, false);
        if (matches(t) && !inside) { found += t.w; inside = true; }
        t.kids.forEach(function (k) {
          var kw = w * k.w / t.w;
          if (kw * px < 1) { narrow++; k.box = null; if (!inside && matches(k)) found += k.w; }
          else down(k, x, kw, inside);
          x += kw;
        });
      }
      var callers = [];
      for (var t = zoom.up; t; t = t.up) callers.unshift(t);
      callers.forEach(function (c) { put(c, 0, 1, true); });
      down(zoom, 0, 1, false);
      box.textContent = "";
      box.appendChild(list);
      box.style.height = (deepest + 1) * ROW + "px";
      var first = focus && focus.box ? focus : zoom;
      first.box.tabIndex = 0;
      if (focus) first.box.focus();
      var s = word ? phrase("“%s” is in %s of %s", find.value.trim(), percent(found / root.w), root.name) : data.hint;
      if (narrow) s += (word ? phrase("; ") : phrase(" ")) + whole(narrow) + (narrow === 1 ? phrase(" frame is") : phrase(" frames are")) + phrase(" narrower than a pixel") + (word ? "" : phrase(": zoom in to see more")) + phrase(".");
      say.textContent = s;
    }

    function hover(e) {
      var b = e.target.closest("button");
      if (b && b.node) tell(b.node);
    }
    box.addEventListener("mouseover", hover);
    box.addEventListener("focusin", hover);
    box.addEventListener("click", function (e) {
      var b = e.target.closest("button");
      if (!b || !b.node) return;
      zoom = b.node;
      draw(zoom);
      tell(zoom);
    });
    box.addEventListener("keydown", function (e) {
      var t = e.target.node, to = null;
      if (!t) return;
      var row = t.up ? t.up.kids.filter(function (x) { return x.box && x.box.isConnected; }) : [t], i = row.indexOf(t);
      if (e.key === "ArrowUp") to = t.up;
      else if (e.key === "ArrowDown") to = t.kids.filter(function (x) { return x.box && x.box.isConnected; })[0];
      else if (e.key === "ArrowLeft") to = row[i - 1];
      else if (e.key === "ArrowRight") to = row[i + 1];
      else if (e.key === "Escape") { zoom = root; draw(root); e.preventDefault(); return; }
      else return;
      e.preventDefault();
      if (to && to.box && to.box.isConnected) {
        t.box.tabIndex = -1;
        to.box.tabIndex = 0;
        to.box.focus();
      }
    });
    find.addEventListener("input", function () { draw(); });
    if (pick) pick.addEventListener("change", function () { build(); draw(); });
    pane.querySelector(".reset").addEventListener("click", function () {
      find.value = "";
      if (pick) pick.value = "";
      build();
      draw();
    });
    var timer;
    window.addEventListener("resize", function () { clearTimeout(timer); timer = setTimeout(draw, 150); });
    all(doc, ".wr").forEach(function (r) { r.addEventListener("change", function () { draw(); }); });
    build();
    draw();
  }
})();
