(() => {
  "use strict";
  const figures = [...document.querySelectorAll("figure.chart")];
  const widths = new Map();
  const actions = { export: true, source: false, compiled: false, editor: false };
  const options = { renderer: "svg", ast: true, actions };

  // A spec is made for a wide page; on a narrow one its panels go below one another and its legend gets longer.
  function fit(spec, width) {
    const { axis, narrowest, panels } = spec.usermeta;
    const columns = Math.max(1, Math.min(spec.columns, panels, Math.floor((width - axis) / narrowest)));
    spec.columns = columns;
    spec.spec.width = Math.max(100, Math.min(520, Math.floor((width - axis) / columns - 24)));
    spec.config.legend.columns = Math.max(1, Math.floor(width / 210));
    return spec;
  }

  async function draw(figure) {
    const canvas = figure.querySelector(".canvas");
    const width = canvas.clientWidth;
    if (widths.get(figure) === width) return;
    widths.set(figure, width);
    try {
      const spec = JSON.parse(figure.querySelector("script").textContent);
      await vegaEmbed(canvas, fit(spec, width), options);
    } catch (error) {
      canvas.textContent = `This chart could not be drawn (${error}); its numbers are in the table below.`;
    }
    canvas.classList.add("drawn");
  }

  const nearby = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) draw(entry.target);
  }, { rootMargin: "800px" });
  figures.forEach((figure) => nearby.observe(figure));

  let waiting;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => figures.filter((figure) => widths.has(figure)).forEach(draw), 200);
  });
  addEventListener("beforeprint", () => figures.filter((figure) => !widths.has(figure)).forEach(draw));
})();
