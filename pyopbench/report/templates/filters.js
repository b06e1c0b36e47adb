  // Filters: what is unchecked is hidden in every table that has it in a column, and left out of every chart.
  const form = document.getElementById("tools");
  const boxes = form ? [...form.querySelectorAll("input[type=checkbox]")] : [];

  const unchecked = () => boxes.filter((box) => !box.checked);

  function allows(field, value) {
    const box = boxes.find((one) => one.name === field && one.value === value);
    return !box || box.checked;
  }

  function filterTable(table) {
    const places = [...table.tHead.rows[0].cells].map((cell) => cell.dataset.field);
    const off = unchecked();
    const hides = (field, shown) => off.some((box) => box.name === field && box.dataset.shown === shown);
    let hidden = 0;
    for (const row of table.tBodies[0].rows) {
      row.hidden = [...row.cells].some((cell, place) => hides(places[place], cell.dataset.value ?? cell.textContent));
      hidden += row.hidden;
    }
    for (const told of [table.caption, table.closest("details.fold")?.querySelector("summary")]) {
      if (hidden) told?.setAttribute("data-hidden", hidden);
      else told?.removeAttribute("data-hidden");
    }
  }

  function filter() {
    const names = unchecked().map((box) => box.parentElement.textContent.trim());
    form.querySelector("output").textContent = names.length ? `without ${names.join(", ")}` : "everything is shown";
    document.querySelectorAll("table").forEach(filterTable);
    charts.show(allows, names.join());
  }

  if (form) {
    form.hidden = false;
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("change", filter);
    form.addEventListener("reset", () => setTimeout(filter));
    for (const button of form.querySelectorAll("button[data-open]")) {
      button.addEventListener("click", () => {
        for (const page of document.querySelectorAll("details.op")) page.open = button.dataset.open === "true";
      });
    }
  }
