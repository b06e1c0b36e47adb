  // Filters: a series is shown if each of its fields is checked and its name has the words; a change is shown with it.
  const form = document.getElementById("tools");
  const boxes = [...form.querySelectorAll("input[type=checkbox][value]")].filter((box) => box.name !== "changed");

  function isShown(figure) {
    const words = form.elements.name.value.toLowerCase().split(/\s+/).filter(Boolean);
    const name = figure.querySelector("h3").textContent.toLowerCase();
    const off = boxes.some((box) => !box.checked && figure.dataset[box.name] === box.value);
    return !off && words.every((word) => name.includes(word)) && (!form.elements.changed.checked || !!figure.dataset.status);
  }

  function filter() {
    const figures = [...document.querySelectorAll("figure.chart")];
    for (const figure of figures) figure.hidden = !isShown(figure);
    const hidden = new Set(figures.filter((figure) => figure.hidden).map((figure) => `#${figure.id}`));
    for (const row of document.querySelectorAll("#changes tbody tr")) {
      row.hidden = hidden.has(row.querySelector("a[href^='#series-']")?.getAttribute("href"));
    }
    const left = figures.length - hidden.size;
    form.querySelector("output").textContent = hidden.size ? `${left} of ${figures.length} series` : "everything is shown";
    charts.redraw();
  }

  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", filter);
  form.addEventListener("reset", () => setTimeout(filter));
