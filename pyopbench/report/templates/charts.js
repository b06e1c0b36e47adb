// Charts: each is drawn when it comes near the window, for the width that it has there and the rows that are asked for.
// They come before the pages of the ops, so that the first is drawn before those are read.
const charts = (() => {
  "use strict";
  const all = () => [...document.querySelectorAll("figure.chart")];
  const drawn = new Map();
  const PAPER_PIXELS = 760;  // three panels side by side; paper is a little narrower, and shows them a little smaller
  let onPaper = false;
  let allows = () => true;
  let filters = "";
  const options = { renderer: "svg", ast: true, actions: { export: true, source: false, compiled: false, editor: false } };

  // Rows are packed as lists of values, with places in a list of words for texts, which takes a third of the bytes.
  function unpacked({ columns, words, values }) {
    const value = (column, packed) => (packed === null ? null : words[column]?.[packed] ?? packed);
    return values.map((row) => Object.fromEntries(columns.map((column, place) => [column, value(column, row[place])])));
  }

  function chosen(row, panels) {
    const fields = { variant: row.variant, ...panels[row.panel] };
    return Object.entries(fields).every(([field, value]) => allows(field, value));
  }

  // A spec is made for a wide page; on a narrow one its panels go below one another and its legend gets longer.
  function fitted(figure, width) {
    const spec = JSON.parse(figure.querySelector("script").textContent);
    const { axis, narrowest, paperRow, panels } = spec.usermeta;
    const rows = unpacked(spec.datasets.rows).filter((row) => chosen(row, panels));
    const shown = new Set(rows.map((row) => row.panel)).size;
    const columns = Math.max(1, Math.min(spec.columns, shown, Math.floor((width - axis) / narrowest)));
    spec.datasets.rows = rows;
    spec.columns = columns;
    spec.spec.width = Math.max(100, Math.min(columns > 1 ? 820 : 1100, Math.floor((width - axis) / columns - 24)));
    spec.config.legend.columns = Math.max(1, Math.floor(width / 210));
    if (onPaper && paperRow) spec.spec.height.step = paperRow;
    return spec;
  }

  async function draw(figure) {
    const canvas = figure.querySelector(".canvas");
    const width = canvas.clientWidth && (onPaper ? PAPER_PIXELS : canvas.clientWidth);
    const state = `${width} ${onPaper} ${filters}`;
    if (!width || drawn.get(figure) === state) return;
    drawn.set(figure, state);
    try {
      const spec = fitted(figure, width);
      if (spec.datasets.rows.length) await vegaEmbed(canvas, spec, options);
      else canvas.textContent = "Everything in this chart is filtered out.";
    } catch (error) {
      canvas.textContent = `This chart could not be drawn (${error}); its numbers are in the table below.`;
    }
    canvas.classList.add("drawn");
  }

  const nearby = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) draw(entry.target);
  }, { rootMargin: "600px" });

  function show(isAllowed, state) {
    allows = isAllowed;
    filters = state;
    redraw();
  }

  // Watching anew makes the observer tell again which of them are near.
  function redraw() {
    for (const figure of all()) {
      nearby.unobserve(figure);
      nearby.observe(figure);
    }
  }
  all().forEach(draw);

  let waiting;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(redraw, 200);
  });

  // On paper are the pages of all ops with their charts; tables behind charts are only if they are unfolded.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details.op, details.guide")].filter((one) => !one.open);
    for (const one of opened) one.open = true;
    onPaper = true;
    all().forEach(draw);
  });
  addEventListener("afterprint", () => {
    for (const one of opened) one.open = false;
    onPaper = false;
    redraw();
  });
  return { redraw, show };
})();
