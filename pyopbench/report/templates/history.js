// Charts of series: each is drawn when it comes near the window, for the width that it has there. All series share two
// specs, of ratios and of latencies; their points are packed as whole numbers, which are logs.
const charts = (() => {
  "use strict";
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const { steps, moments, series } = read("history");
  const specs = Object.fromEntries(Object.entries(read("specs")).map(([name, spec]) => [name, JSON.stringify(spec)]));
  const all = () => [...document.querySelectorAll("figure.chart")];
  const drawn = new Map();
  const WIDEST = 2 * Math.log(2);  // an interval that is wider runs out of the picture, or it would flatten the rest
  const PAPER_PIXELS = 700;
  const options = { renderer: "svg", ast: true, actions: { export: true, source: false, compiled: false, editor: false } };
  let onPaper = false;

  const number = (figure) => Number(figure.id.replace("series-", ""));
  const texts = {
    ratio: (value) => `${Number(value.toPrecision(4))}`,
    latency: (value) => {
      const [scale, unit] = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [0, "ns"]].find(([least]) => value >= least);
      return `${Number((value / (scale || 1e-9)).toPrecision(4))} ${unit}`;
    },
  };

  function pointsOf(one, linked) {
    const text = texts[one.measure];
    const at = (log) => Math.exp(log / steps);
    const end = (log, sign, off) => at(log + sign * Math.min(off, WIDEST * steps));
    return one.values.map((log, place) => {
      const x = one.places ? one.places[place] : place;
      const [label, date, subject] = moments[x];
      const below = one.below?.[place] ?? null;
      const above = one.above?.[place] ?? null;
      const ends = below === null || above === null ? {} : { from: end(log, -1, below), to: end(log, 1, above) };
      const interval_text = below === null || above === null ? "none" : `${text(at(log - below))} to ${text(at(log + above))}`;
      const launches = Array.isArray(one.launches) ? one.launches[place] : one.launches;
      return { x, y: at(log), ...ends, label, date, subject, value_text: text(at(log)), interval_text, launches, linked: linked === x };
    });
  }

  function rowsOf(one, linked) {
    const levels = one.levels.map(([start, stop, log]) => (
      { start: start - 0.4, stop: stop + 0.4, level: Math.exp(log / steps) }));
    const changes = one.changes.map((change) => ({ ...change, x: change.at - 0.5 }));
    return [...pointsOf(one, linked), ...levels, ...changes];
  }

  // `#point=series-3--8` is the ninth moment of a series.
  function linkedPoint() {
    const found = /^#point=(series-\d+)--(\d+)$/.exec(decodeURIComponent(location.hash));
    return found && { id: found[1], place: Number(found[2]) };
  }

  async function draw(figure) {
    const canvas = figure.querySelector(".canvas");
    const width = canvas.clientWidth && (onPaper ? PAPER_PIXELS : canvas.clientWidth);
    const link = linkedPoint();
    const linked = link?.id === figure.id ? link.place : -1;
    const state = `${width} ${linked}`;
    if (!width || drawn.get(figure) === state) return;
    drawn.set(figure, state);
    try {
      const one = series[number(figure)];
      const labels = JSON.stringify(moments.map(([label]) => label));
      const spec = JSON.parse(specs[one.measure].replaceAll('"LABELS"', JSON.stringify(`${labels}[datum.value]`)));
      const rows = rowsOf(one, linked);
      spec.datasets.rows = rows;
      spec.layer = spec.layer.filter((layer) => rows.some((row) => layer.name in row));
      spec.width = Math.max(100, width - 80);
      const { view } = await vegaEmbed(canvas, spec, options);
      view.addEventListener("click", (event, item) => {
        if (item?.datum?.y !== undefined && item.datum.x !== undefined) location.hash = `point=${figure.id}--${item.datum.x}`;
      });
    } catch (error) {
      canvas.textContent = `This chart could not be drawn (${error}); its numbers are in history.json.`;
    }
    canvas.classList.add("drawn");
    if (!performance.getEntriesByName("first chart").length) performance.mark("first chart");
  }

  const nearby = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) draw(entry.target);
  }, { rootMargin: "400px" });

  // Watching anew makes the observer tell again which of them are near.
  function redraw() {
    for (const figure of all()) {
      nearby.unobserve(figure);
      if (!figure.hidden) nearby.observe(figure);
    }
  }

  function follow() {
    const link = linkedPoint();
    document.querySelector("figure.linked")?.classList.remove("linked");
    const figure = link && document.getElementById(link.id);
    if (!figure) return;
    figure.classList.add("linked");
    figure.hidden = false;
    figure.scrollIntoView({ block: "center" });
    draw(figure);
  }

  addEventListener("hashchange", () => { redraw(); follow(); });
  if (all().length) draw(all()[0]);  // it may be below a long table, and whoever scrolls there finds it drawn
  redraw();
  follow();

  let waiting;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(redraw, 200);
  });
  // On paper are the charts that were drawn, and those of series with a change.
  addEventListener("beforeprint", () => {
    onPaper = true;
    all().filter((figure) => figure.dataset.status || drawn.has(figure)).forEach(draw);
  });
  addEventListener("afterprint", () => {
    onPaper = false;
    redraw();
  });
  return { redraw };
})();
