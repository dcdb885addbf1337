"use strict";
// Draws the page from the data. Every text is set as text, never as markup.
(() => {
  const { dagre, zoom, zoomIdentity, select } = vendor;
  const data = JSON.parse(document.getElementById("data").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const at = (id) => document.getElementById(id);

  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) if (value !== null) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const draw = (tag, attributes = {}, ...children) => {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };

  // --- lines: who lights up whom -----------------------------------------------------------------
  const textOf = new Map(); // key -> the user's line
  for (const source of data.sources) source.rows.forEach((text, k) => textOf.set(`${source.file}:${source.first + k}`, text));
  const nodesOf = new Map();
  data.nodes.forEach((node, k) => {
    node.id = k;
    const key = node.key ?? `argument ${k}`;
    if (!nodesOf.has(key)) nodesOf.set(key, []);
    nodesOf.get(key).push(node);
  });
  const flagged = new Set(data.flags.map((flag) => flag.key));
  for (const node of data.nodes) if ((node.values ?? []).some((v) => v.nan || v.inf)) flagged.add(node.key);

  const clear = () => {
    for (const element of document.querySelectorAll(".lit-forward, .lit-backward, .lit-both, .box.lit"))
      element.classList.remove("lit-forward", "lit-backward", "lit-both", "lit");
  };
  let [lit, litRow] = [null, null];
  let chosen = null; // the row or box of a click or of the keyboard, which is lit again when the pointer goes elsewhere
  const back = () => { if (chosen !== null) light(chosen.dataset.key ?? null, chosen); };
  const light = (key, row = null) => { // of a row of generated source also the other lines that it computes
    if (key === lit && row === litRow) return;
    clear();
    [lit, litRow] = [key, row];
    if (key === null) return;
    for (const other of row?.dataset.also?.split(" ") ?? [])
      for (const its of document.querySelectorAll("#source .row")) if (its.dataset.key === other) its.classList.add(`lit-${row.dataset.phase}`);
    const phases = new Set((nodesOf.get(key) ?? []).map((node) => node.phase).filter((phase) => phase !== "input"));
    for (const row of document.querySelectorAll("#generated .row")) {
      if (row.dataset.key !== key && !row.dataset.also?.split(" ").includes(key)) continue;
      row.classList.add(row.dataset.phase === "backward" ? "lit-backward" : "lit-forward");
      if (row.dataset.phase) phases.add(row.dataset.phase); // C has none
    }
    const hue = phases.size > 1 ? "lit-both" : phases.has("backward") ? "lit-backward" : "lit-forward";
    for (const row of document.querySelectorAll("#source .row")) if (row.dataset.key === key) row.classList.add(hue);
    const at = document.querySelectorAll(".box");
    for (let held = key; held !== null; held = heldBy.size ? holderOf(held) : null) { // the box of the line, or of the loop around it
      const boxes = [...at].filter((box) => box.dataset.keys.split(" ").includes(held));
      for (const box of boxes) box.classList.add("lit");
      if (boxes.length) break;
    }
    showDetail(key);
  };
  const intoView = (pane, key) => {
    const row = [...document.querySelectorAll(`#${pane} .row`)].find((element) => element.dataset.key === key);
    if (!row) return;
    const box = row.closest(".code");
    const [top, bottom] = [row.offsetTop - box.offsetTop, row.offsetTop - box.offsetTop + row.offsetHeight];
    if (top < box.scrollTop || bottom > box.scrollTop + box.clientHeight) box.scrollTop = top - box.clientHeight / 3;
  };

  // --- the panes ----------------------------------------------------------------------------------
  let panes = 0;
  const pane = (parent, label, rows, other) => {
    const id = `pane${panes++}`;
    const box = make("div", { class: "code", tabindex: "0", role: "listbox", "aria-label": label, id });
    rows.forEach((row, k) => {
      const line = make("div", { class: "row", role: "option", id: `${id}-${k}`, "aria-selected": "false", "data-key": row.key, "data-phase": row.phase ?? null, "data-also": row.also?.join(" ") || null });
      line.append(make("span", { class: "number" }, String(row.number)), row.text || " ");
      if (flagged.has(row.key) && row.key !== null && parent.id === "source") line.append(make("span", { class: "flag" }, "  ◀ look here"));
      box.append(line);
    });
    let active = -1;
    const move = (k) => {
      const lines = box.children;
      if (active >= 0) { lines[active].classList.remove("active"); lines[active].setAttribute("aria-selected", "false"); }
      active = Math.max(0, Math.min(lines.length - 1, k));
      lines[active].classList.add("active");
      lines[active].setAttribute("aria-selected", "true");
      box.setAttribute("aria-activedescendant", lines[active].id);
      lines[active].scrollIntoView({ block: "nearest", inline: "nearest" });
      chosen = lines[active];
      back();
      if (lines[active].dataset.key) intoView(other, lines[active].dataset.key);
    };
    box.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -1e9, End: 1e9 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      move(active + step);
    });
    box.addEventListener("pointerover", (event) => {
      const row = event.target.closest(".row");
      if (row) light(row.dataset.key ?? null, row);
    });
    box.addEventListener("pointerleave", back);
    box.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (row) move([...box.children].indexOf(row));
    });
    parent.append(box);
  };
  for (const source of data.sources) {
    const title = source.name ? `${source.path}: ${source.name}` : source.path;
    at("source").append(make("h3", {}, title));
    pane(at("source"), `Your source, ${title}, line ${source.first}`, source.rows.map((text, k) => {
      const key = `${source.file}:${source.first + k}`;
      return { number: source.first + k, text, key: nodesOf.has(key) || data.generated.links.includes(key) || flagged.has(key) ? key : null };
    }), "generated");
  }
  if (data.generated.eager) at("generated").append(make("p", {}, data.generated.eager));
  else {
    at("generated").append(make("h3", {}, data.generated.path.split("/").pop()));
    pane(at("generated"), "Generated source", data.generated.rows.map((text, k) => (
      { number: k + 1, text, key: data.generated.links[k], also: data.generated.also[k], phase: data.generated.phases[k] })), "source");
    if (data.generated.c.length) {
      const folded = make("details", {}, make("summary", {}, "The same in C (target=\"native\"), without the page that all kernels share"));
      at("generated").append(folded);
      pane(folded, "Generated C", data.generated.c.map((text, k) => ({ number: k + 1, text, key: data.generated.c_links[k] })), "source");
    }
  }

  // --- figures ------------------------------------------------------------------------------------
  const short = (x) => (x === undefined ? "" : x === 0 ? "0" : Math.abs(x) >= 1e-3 && Math.abs(x) < 1e5 ? String(Number(x.toPrecision(4))) : x.toExponential(2));
  const seconds = (t) => (t === undefined || t === null ? "" : t >= 1 ? `${t.toPrecision(3)} s` : t >= 1e-3 ? `${(t * 1e3).toPrecision(3)} ms` : `${(t * 1e6).toPrecision(3)} µs`);
  const bytes = (n) => (n === undefined || n === null ? "" : n >= 1e6 ? `${(n / 1e6).toPrecision(3)} MB` : n >= 1e3 ? `${(n / 1e3).toPrecision(3)} kB` : `${n} B`);
  const histogram = (bars) => {
    if (!bars) return "";
    const most = Math.max(...bars);
    const picture = draw("svg", { class: "bars", viewBox: `0 0 ${bars.length} 20`, preserveAspectRatio: "none", "aria-hidden": "true" });
    bars.forEach((n, k) => picture.append(draw("rect", { x: k, width: 0.9, y: 20 - (20 * n) / most, height: (20 * n) / most })));
    return picture;
  };
  const saying = (text) => make("p", { class: "hint" }, text);
  const table = (caption, head, rows, figures) => {
    const cell = (tag, value, k) => make(tag, { class: figures.includes(k) ? "figure" : null, scope: tag === "th" ? "col" : null }, value);
    return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, make("table", {},
      make("caption", {}, caption), make("thead", {}, make("tr", {}, ...head.map((text, k) => cell("th", text, k)))),
      make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((value, k) => cell("td", value, k)))))));
  };
  const oddities = (value) => {
    const said = [];
    if (value.nan) said.push(`${value.nan} NaN`);
    if (value.inf) said.push(`${value.inf} infinite`);
    if (value.size && value.zeros === value.size) said.push("all zero");
    else if (value.zeros) said.push(`${value.zeros} zero`);
    return make("span", { class: value.nan || value.inf ? "flag" : null }, said.join(", "));
  };
  const showDetail = (key) => {
    const nodes = nodesOf.get(key) ?? [];
    const place = at("detail");
    place.replaceChildren();
    at("line").textContent = (textOf.get(key) ?? nodes[0]?.name ?? "").trim();
    const trips = Math.max(0, ...nodes.map((node) => node.trips ?? (node.phase === "input" ? 1 : 0)));
    if (!trips) place.append(saying("Nothing of this line ran for these arguments."));
    if (trips > 1) place.append(saying(`It ran ${trips} times: least, largest and notes are of all ${trips > data.trips ? `of the first ${data.trips} ` : ""}times, the spread of the last, the time of all together.`));
    for (const phase of ["input", "forward", "backward"]) {
      const rows = nodes.filter((node) => node.phase === phase).flatMap((node) => (node.values ?? [{ type: node.type }]).map((value, k) => [
        node.names?.[k] ?? node.name ?? "", node.op + (node.inner?.length ? ` of ${node.inner.length} operations` : ""), value.type, short(value.low), short(value.high),
        histogram(value.bars), oddities(value), k ? "" : seconds(node.seconds)]));
      if (rows.length) place.append(table({ input: "Argument", forward: "Forward", backward: "Backward: cotangents" }[phase],
        ["name", "operation", "type", "least", "largest", "spread", "notes", "time"], rows, [3, 4, 7]));
    }
  };
  at("detail").append(saying("Point at a line or at a box of the graph."));

  // --- the graph: a box for each line, opened into its operations on request ------------------------
  // A group holds keys of lines; where there are more lines than one view shows, neighbours share a group.
  const forwardOf = (key) => (nodesOf.get(key) ?? []).filter((node) => node.phase !== "backward");
  const keys = [...nodesOf.keys()].filter((key) => forwardOf(key).length);
  const keyOf = (node) => node.key ?? `argument ${node.id}`;
  const holderOf = (key) => { // the line of the loop, the branch or the function that a line stands in; null at the top
    let outer = null;
    for (const node of forwardOf(key)) {
      if (node.within === null) return null;
      const holder = keyOf(data.nodes[node.within]);
      if (holder === key || !forwardOf(holder).length) return null;
      outer ??= holder;
    }
    return outer;
  };
  const heldBy = new Map(); // holder, or null -> the lines in it
  for (const key of keys) {
    let holder = holderOf(key);
    for (const met = new Set([key]); holder !== null; holder = holderOf(holder)) { // no line holds itself, by way of others
      if (met.has(holder)) { heldBy.set(null, [...(heldBy.get(null) ?? []), key]); break; }
      met.add(holder);
    }
    if (holder === null) heldBy.set(holderOf(key), [...(heldBy.get(holderOf(key)) ?? []), key]);
  }
  const whole = (key) => [key, ...(heldBy.get(key) ?? []).flatMap(whole)];
  const HALF = Math.floor(data.most / 2);
  const FEW = 6; // arguments that have a box each; of more, those of one name share one
  const rootOf = (key) => nodesOf.get(key)[0].name.match(/^[^.[]*/)[0];
  const grouped = (list) => { // at most half of a view
    const size = Math.ceil(list.length / HALF);
    if (size <= 1) return list.map((key) => [key]);
    return Array.from({ length: Math.ceil(list.length / size) }, (_, k) => list.slice(k * size, (k + 1) * size));
  };
  const outermost = () => {
    const top = heldBy.get(null) ?? [];
    const inputs = top.filter((key) => nodesOf.get(key)[0].phase === "input");
    const groups = new Map();
    for (const key of inputs) {
      const name = inputs.length > FEW ? rootOf(key) : key;
      groups.set(name, [...(groups.get(name) ?? []), key]);
    }
    return [...(groups.size > HALF ? grouped(inputs) : groups.values()), ...grouped(top.filter((key) => !inputs.includes(key)))];
  };
  let opened = new Set();
  const nameOf = (group) => group.join(" ");
  const openGroup = (name) => {
    if (opened.has(name)) opened.delete(name);
    else {
      opened.add(name);
      if (boxes().length > data.most) opened = new Set([...opened].filter((other) => name === other || name.startsWith(other) || other.includes(name)));
      if (boxes().length > data.most) { opened = new Set(); at("graph").dataset.refused = name; }
    }
    render(name);
  };
  const boxes = () => {
    const found = [];
    const add = (group) => {
      const name = nameOf(group);
      if (!opened.has(name)) return found.push({ name, keys: group, nodes: group.flatMap(whole).flatMap((key) => nodesOf.get(key)) });
      if (group.length > 1) return grouped(group).forEach(add);
      const held = heldBy.get(group[0]) ?? [];
      if (held.length) { // a loop: its line, and the lines in it
        found.push({ name: `${name}#`, parent: name, keys: group, nodes: nodesOf.get(group[0]), head: true });
        return grouped(held).forEach(add);
      }
      const all = nodesOf.get(group[0]);
      const forward = all.filter((node) => node.phase !== "backward");
      forward.forEach((node) => {
        const its = all.filter((other) => other.phase === "backward" && (other.of === node.id || (other.of === null && other.place === node.place)));
        found.push({ name: `${name}#${node.id}`, parent: name, keys: group, nodes: [node, ...its], one: node });
      });
    };
    outermost().forEach(add);
    return found;
  };
  const clip = (text, n) => (text.length > n ? `${text.slice(0, n - 1)}…` : text);
  const REAL = /^(float|complex)/;
  const magnitude = (backward, box) => { // of the cotangents; where the graph does not say which those are, of all floats
    const its = new Set(box.nodes.filter((node) => node.phase !== "backward").map((node) => node.id));
    const known = data.nodes.filter((node) => node.phase === "backward").map((node) => (node.values ?? []).filter((_, k) => its.has(node.ofs[k]) && (box.nodes[0].phase !== "input" || node.within === null)))
      .filter((found) => found.length);
    const values = (known.length ? (box.nodes[0].phase === "input" && box.nodes.length === 1 ? known.at(-1) : known.flat()) : backward.flatMap((node) => node.values ?? [])).filter((v) => REAL.test(v.type));
    if (values.some((v) => v.nan)) return "d has NaN";
    if (values.some((v) => v.inf)) return "d infinite";
    const sizes = values.filter((v) => v.low !== undefined).map((v) => Math.max(Math.abs(v.low), Math.abs(v.high)));
    if (!sizes.length) return "";
    const most = Math.max(...sizes);
    return most ? `|d| ≤ ${short(most)}` : "d = 0";
  };
  const words = (box) => {
    const count = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
    const [first] = box.nodes;
    const backward = first.phase === "input" ? [] : box.nodes.filter((node) => node.phase === "backward");
    const right = [magnitude(backward, box), backward.length ? count(backward.length, "operation") : ""];
    if (box.one && first.phase !== "input") return [`${box.one.name ? `${box.one.name} = ` : ""}${box.one.op}`, box.one.type, ...right];
    if (box.keys.length > 1 && first.phase === "input") {
      const names = new Set(box.keys.map(rootOf));
      return [names.size === 1 ? [...names][0] : `${[...names][0]} to ${[...names].at(-1)}`, count(box.keys.length, "array"), ...right];
    }
    if (box.keys.length > 1) return [`lines ${box.keys[0].split(":").pop()} to ${box.keys.at(-1).split(":").pop()}`, `${box.keys.length} lines, ${count(box.nodes.length - backward.length, "operation")}`, ...right];
    if (first.phase === "input") return [first.name, first.type, ...right];
    const forward = box.nodes.filter((node) => node.phase === "forward").length;
    const trips = Math.max(...(box.head || heldBy.has(box.keys[0]) ? box.nodes.map((node) => (node.within === null ? 0 : node.trips ?? 0)) : [0]));
    return [`${box.keys[0].split(":").pop()}: ${(textOf.get(box.keys[0]) ?? "").trim()}`, `${count(forward, "operation")}${trips > 1 ? `, up to ${trips} times` : ""}`, ...right];
  };
  const picture = draw("svg");
  const stage = draw("g");
  picture.append(draw("defs", {}, draw("marker", { id: "arrow", viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 8, markerHeight: 8, orient: "auto" }, draw("path", { class: "arrow", d: "M0,1L10,5L0,9z" }))), stage);
  at("graph").append(picture);
  if (!data.nodes.length) {
    for (const part of at("drawn").children) part.hidden = part.id !== "h-graph";
    at("drawn").append(saying("There is none: the function runs eagerly."));
  }
  const zooming = zoom().scaleExtent([0.05, 4]).on("zoom", (event) => stage.setAttribute("transform", event.transform));
  zooming.filter((event) => !event.button && (event.type !== "wheel" || event.ctrlKey || at("graph").matches(":focus-within"))); // else it scrolls the page
  at("graph").addEventListener("pointerleave", back);
  select(picture).call(zooming).on("dblclick.zoom", null);
  let extent = { width: 1, height: 1 };
  const LEGIBLE = 0.8; // below it the letters are too small to read
  const showing = (k, x, y) => zooming.transform(select(picture), zoomIdentity.translate(x, y).scale(k));
  const fit = (least = 0, box = null) => { // all of it, or, where that is too small to read, the surroundings of a box
    if (!(extent.width > 0)) return; // no box
    const { width, height } = at("graph").getBoundingClientRect();
    const k = Math.min(1.2, width / (extent.width + 40), height / (extent.height + 40));
    if (k >= least || box === null) return showing(k, (width - k * extent.width) / 2, Math.max(10, (height - k * extent.height) / 2));
    const within = (middle, size, whole) => (k2 * whole + 20 <= size ? (size - k2 * whole) / 2 : Math.max(size - k2 * whole - 10, Math.min(10, size / 2 - k2 * middle)));
    const k2 = least;
    showing(k2, within(box.x, width, extent.width), within(box.y, height, extent.height));
  };
  const render = (focus) => {
    const shown = boxes();
    const of = new Map();
    for (const box of shown) for (const node of box.nodes) of.set(node.id, box);
    const g = new dagre.graphlib.Graph().setGraph({ rankdir: "TB", nodesep: 24, ranksep: 34 }).setDefaultEdgeLabel(() => ({}));
    for (const box of shown) {
      box.words = words(box).map((text, k) => clip(text, k ? 34 : 44));
      const [above, below, ...right] = box.words.map((text) => text.length);
      box.left = Math.max(90, 7.4 * Math.max(above, below) + 18);
      box.right = Math.max(...right) ? 7.4 * Math.max(...right) + 18 : 0;
      g.setNode(box.name, { width: box.left + box.right, height: 42 });
    }
    for (const node of data.nodes) {
      if (node.phase === "backward" || !of.has(node.id)) continue;
      for (const read of node.reads) if (of.has(read) && of.get(read) !== of.get(node.id)) g.setEdge(of.get(read).name, of.get(node.id).name);
    }
    dagre.layout(g);
    extent = g.graph();
    stage.replaceChildren();
    for (const edge of g.edges()) {
      const points = g.edge(edge).points.map((p) => `${p.x.toFixed(1)},${p.y.toFixed(1)}`);
      stage.append(draw("path", { class: "edge", d: `M${points.join("L")}`, "marker-end": "url(#arrow)" }));
    }
    let focused = null;
    for (const box of shown) {
      const { x, y, width, height } = g.node(box.name);
      const bad = box.keys.some((key) => flagged.has(key));
      const element = draw("g", { class: `box${bad ? " flagged" : ""}`, transform: `translate(${x - width / 2},${y - height / 2})`, tabindex: "0", role: "button", "data-keys": box.keys.join(" "), "data-key": box.keys[0],
        "aria-expanded": String(Boolean(box.parent)) });
      const text = (left, top, words) => { const made = draw("text", { x: left, y: top }); made.textContent = words; return made; };
      element.append(draw("rect", { class: "half-forward", width: box.left, height, rx: 4 }));
      if (box.right) element.append(draw("rect", { class: "half-backward", x: box.left, width: box.right, height, rx: 4 }), text(box.left + 8, 17, box.words[2]), text(box.left + 8, 33, box.words[3]));
      element.append(text(8, 17, box.words[0]), text(8, 33, box.words[1]));
      const act = () => openGroup(box.parent ?? box.name);
      element.addEventListener("click", act);
      element.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        act();
      });
      const own = () => { chosen = element; light(box.keys[0]); intoView("source", box.keys[0]); intoView("generated", box.keys[0]); };
      element.addEventListener("pointerover", () => light(box.keys[0]));
      element.addEventListener("focus", own);
      if (focused === null && focus !== undefined && (box.name === focus || box.parent === focus)) focused = element;
      stage.append(element);
    }
    const seen = shown.find((box) => box.name === focus || box.parent === focus) ?? shown[0];
    fit(LEGIBLE, seen ? g.node(seen.name) : null);
    if (focused) focused.focus({ preventScroll: true });
  };
  at("bigger").addEventListener("click", () => zooming.scaleBy(select(picture), 1.3));
  at("closer").addEventListener("click", () => zooming.scaleBy(select(picture), 1 / 1.3));
  at("whole").addEventListener("click", () => fit());
  at("fold").addEventListener("click", () => { opened = new Set(); render(); });
  render();

  // --- tables ---------------------------------------------------------------------------------------
  const comparison = data.comparison;
  const healthy = !data.flags.length && ![...flagged].some(Boolean);
  at("flagged").hidden = healthy;
  const shown = (column) => comparison.values.some((row) => row[column] !== "-");
  const ways = comparison && ["Eager", ...(shown(3) ? ["compiled"] : []), ...(shown(4) ? ["native"] : [])].join(", ");
  at("verdict").textContent = (comparison === null ? "Not compared." : `${ways} and finite differences ${comparison.ok ? "agree." : "disagree: see the table."}`)
    + (healthy && comparison !== null ? " Every gradient is finite, and none is zero throughout." : "");
  if (comparison && !comparison.ok) at("verdict").className = "flag";
  if (comparison) {
    at("compare").append(table("Gradients by argument", ["argument", "type", "compiled − eager", "relative", "bits", "eager − finite differences", "relative", "agree"], comparison.rows, [2, 3, 5, 6]));
    at("compare").append(
      table("Gradients: a number as it is, of an array its norm", ["argument", "type", "eager", "compiled", "native", "finite differences", "taken"], comparison.values, [2, 3, 4, 5]),
      table("One gradient", ["way", "time", "peak of memory"], comparison.ways.map(([way, time, size]) => [way, seconds(time), size === null ? "not measured" : bytes(size)]), [1, 2]));
    for (const line of comparison.remarks) at("compare").append(make("p", {}, line));
  }
  for (const note of data.notes) at("compare").append(make("p", {}, note));
  for (const flag of data.flags) at("flags").append(make("p", {}, make("span", { class: "flag" }, flag.text), flag.key ? ` (line ${flag.key.split(":").pop()})` : "", flag.advice ? ` ${flag.advice}` : ""));
  for (const key of flagged) if (key && !data.flags.some((flag) => flag.key === key))
    at("flags").append(make("p", {}, make("span", { class: "flag" }, "NaN or infinite values"), ` at line ${key.split(":").pop()}: `, make("code", {}, (textOf.get(key) ?? "").trim())));
  const lines = [...nodesOf].filter(([key]) => textOf.has(key)).map(([key, nodes]) => {
    const sum = (phase, what) => {
      const its = nodes.filter((node) => node.phase === phase && node[what] !== undefined);
      return its.length ? its.reduce((total, node) => total + node[what], 0) : null;
    };
    return { key, times: [sum("forward", "seconds"), sum("backward", "seconds")], bytes: [sum("forward", "bytes"), sum("backward", "bytes")] };
  }).sort((a, b) => b.times[0] + b.times[1] - a.times[0] - a.times[1]);
  const ofLines = (caption, some) => table(caption, ["line", "source", "time forward", "time backward", "bytes forward", "bytes backward"],
    some.map((one) => [one.key.split(":").pop(), make("code", {}, clip(textOf.get(one.key).trim(), 70)), ...one.times.map(seconds), ...one.bytes.map(bytes)]), [0, 2, 3, 4, 5]);
  const MOST_LINES = 25;
  if (lines.length) at("lines").append(saying("Operation by operation, unfused: the least of a few runs, and the bytes of all results; in a loop those of all trips."), ofLines("The slowest first", lines.slice(0, MOST_LINES)));
  else at("lines").append(make("p", {}, "Not known: the function runs eagerly."));
  if (lines.length > MOST_LINES) at("lines").append(make("details", {}, make("summary", {}, `${lines.length - MOST_LINES} more lines`), ofLines("The others", lines.slice(MOST_LINES))));
  at("assumed").textContent = data.assumed || "It is not compiled.";

  at("theme").addEventListener("click", () => {
    const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = dark ? "light" : "dark";
  });
})();
