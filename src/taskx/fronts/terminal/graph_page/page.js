// Draws the project graph with force-graph and lists the same thing as text beside it, so that the
// keyboard and a screen reader reach all of it. Data: see `taskx.fronts.terminal.graph_html`.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const canvas = byId("canvas");
  const panel = byId("panel");
  const state = { level: "module", focus: null, edge: null };

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  let colours = {};
  const readColours = () => {
    for (const name of ["back", "front", "dim", "import", "reference", "cycle", "chosen"]) {
      colours[name] = colour("--" + name);
    }
  };

  // One level's nodes and edges with neighbours resolved once; positions survive a change of filter.
  const levels = {};
  for (const [name, part] of Object.entries(data.levels)) {
    const nodes = part.nodes.map((node) => ({ ...node, near: new Set() }));
    const edges = part.edges.map((edge) => ({
      ...edge, source: nodes[edge.from], target: nodes[edge.to], fromId: nodes[edge.from].id, toId: nodes[edge.to].id,
    }));
    for (const edge of edges) {
      edge.source.near.add(edge.target);
      edge.target.near.add(edge.source);
    }
    for (const node of [...nodes].sort((a, b) => b.degree - a.degree).slice(0, 12)) node.prominent = true;
    levels[name] = { ...part, nodes, edges, index: new Map(nodes.map((node) => [node.id, node])) };
  }
  const current = () => levels[state.level];

  function shown() {
    const part = current();
    const kinds = new Set();
    if (byId("imports").checked) kinds.add("import");
    if (byId("references").checked) kinds.add("reference");
    const edges = part.edges.filter((edge) => kinds.has(edge.kind));
    const depth = Number(byId("depth").value);
    if (!state.focus || depth === 0) {
      // What nothing links to would only push the rest together; the list beside has it.
      return { nodes: part.nodes.filter((node) => node.degree > 0), links: edges };
    }
    const near = new Map();
    for (const edge of edges) {
      for (const [a, b] of [[edge.source, edge.target], [edge.target, edge.source]]) {
        if (!near.has(a)) near.set(a, []);
        near.get(a).push(b);
      }
    }
    let ring = [state.focus];
    const inside = new Set(ring);
    for (let step = 0; step < depth; step++) {
      const next = [];
      for (const node of ring) {
        for (const other of near.get(node) || []) if (!inside.has(other)) { inside.add(other); next.push(other); }
      }
      ring = next;
    }
    return {
      nodes: part.nodes.filter((node) => inside.has(node)),
      links: edges.filter((edge) => inside.has(edge.source) && inside.has(edge.target)),
    };
  }

  const radius = (node) => 2 + Math.sqrt(node.degree);
  const short = (id) => id.split("/").slice(-2).join("/");
  const graph = new ForceGraph(canvas)
    .nodeId("id")
    .nodeVal((node) => 1 + node.degree / 4)
    .nodeLabel((node) => node.id.replace(/[&<>]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c]))
    .linkColor((edge) => (edge === state.edge ? colours.chosen : colours[edge.kind]))
    .linkWidth((edge) => (edge === state.edge ? 3 : Math.min(4, 0.4 + Math.log2(1 + edge.weight) / 2)))
    .linkDirectionalArrowLength(3)
    .linkDirectionalArrowRelPos(0.9)
    .nodeCanvasObject((node, context, scale) => {
      context.beginPath();
      context.arc(node.x, node.y, radius(node), 0, 2 * Math.PI);
      context.fillStyle = node === state.focus ? colours.chosen : node.inCycle ? colours.cycle : colours.import;
      context.fill();
      const near = state.focus && (node === state.focus || state.focus.near.has(node));
      if (near || node.prominent || scale * radius(node) > 9) {
        context.font = `${11 / scale}px system-ui, sans-serif`;
        context.textAlign = "center";
        context.fillStyle = colours.front;
        context.fillText(short(node.id), node.x, node.y + radius(node) + 11 / scale);
      }
    })
    .nodePointerAreaPaint((node, paint, context) => {
      context.fillStyle = paint;
      context.beginPath();
      context.arc(node.x, node.y, radius(node) + 2, 0, 2 * Math.PI);
      context.fill();
    })
    .onNodeClick((node) => focusOn(node))
    .onLinkClick((edge) => choose(edge))
    .onBackgroundClick(() => focusOn(null))
    .warmupTicks(80)
    .cooldownTime(4000);

  function draw() {
    readColours();
    graph.backgroundColor(colours.back).graphData(shown());
  }
  function resize() {
    graph.width(canvas.clientWidth).height(canvas.clientHeight);
  }

  function focusOn(node) {
    state.focus = node;
    state.edge = null;
    byId("search").value = node ? node.id : "";
    if (node && byId("depth").value === "0") graph.centerAt(node.x, node.y, 300);
    draw();
    list();
  }
  function choose(edge) {
    state.edge = edge;
    draw();
    list();
  }

  const make = (tag, text, attributes) => Object.assign(document.createElement(tag), { textContent: text }, attributes);
  function link(text, action) {
    const button = make("button", text, { className: "link", type: "button" });
    button.addEventListener("click", action);
    return button;
  }
  function section(title, rows) {
    panel.append(make("h2", title));
    const items = make("ul", "");
    for (const row of rows) {
      const item = make("li", "");
      item.append(...row);
      items.append(item);
    }
    panel.append(rows.length ? items : make("p", "none"));
  }
  const go = (id) => {
    const node = current().index.get(id);
    return node ? link(id, () => focusOn(node)) : make("span", id);
  };
  const note = (text) => make("small", " " + text);

  function list() {
    panel.replaceChildren();
    if (state.edge) return listEdge(state.edge);
    if (state.focus) return listNode(state.focus);
    const stats = current().stats;
    section("Project", [
      [`${stats.files} files, ${stats.importEdges} import edges, ${stats.referenceEdges} reference edges`],
      [`${stats.cycles} import cycles, ${stats.orphans} files without an edge`],
      [`${current().nodes.length} of ${current().total.nodes} ${state.level === "file" ? "files" : "modules"} shown`],
    ]);
    section("Most depended on", stats.hubs.map((hub) => [goTo(hub.path), note(`${hub.dependents} dependents`)]));
    section("Import cycles", stats.importCycles.slice(0, 50).map((cycle) => [goTo(cycle[0]), note(cycle.slice(1).join(", "))]));
    section("All", current().nodes.map((node) => [go(node.id), note(`${node.degree}`)]));
  }
  function goTo(path) {
    const target = state.level === "file" ? path : path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : ".";
    const node = current().index.get(target);
    return node ? link(path, () => focusOn(node)) : make("span", path);
  }
  function listNode(node) {
    panel.append(make("h2", node.id));
    panel.append(make("p", `${node.language || ""} ${node.symbols} symbols, ${node.files} files${node.inCycle ? ", in an import cycle" : ""}`));
    const edges = current().edges;
    const row = (edge, id) => [go(id), note(`${edge.kind}, ${edge.weight}`), " ", link("files", () => choose(edge))];
    section("Depends on", edges.filter((edge) => edge.source === node).map((edge) => row(edge, edge.toId)));
    section("Used by", edges.filter((edge) => edge.target === node).map((edge) => row(edge, edge.fromId)));
  }
  function listEdge(edge) {
    panel.append(make("h2", `${edge.fromId} → ${edge.toId}`));
    panel.append(make("p", `${edge.kind}, ${edge.weight} linked symbols`));
    const behind = data.behind[`${edge.fromId}\n${edge.toId}\n${edge.kind}`] || [];
    section("Files behind it", behind.map(([from, to, symbols]) => [make("span", `${from} → ${to}`), note(symbols.join(", "))]));
    const back = link("Back", () => choose(null));
    panel.append(back);
    back.focus();
  }

  function names() {
    byId("names").replaceChildren(...current().nodes.map((node) => make("option", "", { value: node.id })));
  }
  function search() {
    const text = byId("search").value.trim();
    if (!text) return focusOn(null);
    const exact = current().index.get(text);
    const node = exact || current().nodes.find((candidate) => candidate.id.toLowerCase().includes(text.toLowerCase()));
    if (node) {
      focusOn(node);
      byId("search").value = text;
    }
  }

  byId("level").addEventListener("change", (event) => {
    state.level = event.target.value;
    names();
    focusOn(null);
    graph.zoomToFit(300, 30);
  });
  byId("search").addEventListener("change", search);
  byId("search").addEventListener("keydown", (event) => event.key === "Enter" && search());
  for (const id of ["depth", "imports", "references"]) byId(id).addEventListener("change", draw);
  byId("clear").addEventListener("click", () => focusOn(null));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") focusOn(null);
    if (event.key === "/" && document.activeElement !== byId("search")) {
      event.preventDefault();
      byId("search").focus();
    }
  });
  window.addEventListener("resize", resize);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

  names();
  resize();
  draw();
  list();
  graph.onEngineStop(() => {
    document.body.dataset.drawn = "yes";
  });
  setTimeout(() => graph.zoomToFit(0, 30), 50);
})();
