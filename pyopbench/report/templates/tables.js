  // Tables: columns that sort, and for each row a link to it and a copy of it as Markdown. A table gets them when it
  // comes near the window, because the pages of all ops together have thousands of rows.
  const slug = (words) => words.toLowerCase().replace(/[^a-z0-9_]+/g, "-").replace(/^-|-$/g, "");
  const cellsOf = (row) => [...row.cells].filter((cell) => !cell.classList.contains("tools"));
  const heads = (row) => cellsOf(row).filter((cell) => cell.tagName === "TH").map((cell) => cell.textContent);
  const columnsOf = (table) => cellsOf(table.tHead.rows[0]).map((cell) => cell.dataset.name ?? cell.textContent);
  const addressOf = (row) => `row=${slug(row.closest("table").caption.textContent)}--${slug(heads(row).join(" "))}`;

  // What a cell shows is formatted for people; the table has the place of its number in the order of its column.
  const orders = new Map();
  function readOrder(body) {
    const told = (body.dataset.order ?? "").split(" ");
    [...body.rows].forEach((row, place) => orders.set(row, (told[place] ?? "").split(",")));
  }

  function keyOf(row, place) {
    const order = orders.get(row)[place];
    return order ? Number(order) : row.cells[place].textContent.trim();
  }

  function compare(one, other) {
    const numbers = [one, other].map((key) => typeof key === "number");
    if (numbers[0] && numbers[1]) return one - other;
    return numbers[0] === numbers[1] ? one.localeCompare(other) : numbers[0] ? -1 : 1;
  }

  function sort(heading) {
    const table = heading.closest("table");
    const place = heading.cellIndex;
    const sign = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const cell of table.tHead.rows[0].cells) cell.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    const rows = [...table.tBodies[0].rows].map((row) => [keyOf(row, place), row]);
    rows.sort((one, other) => sign * compare(one[0], other[0]));
    table.tBodies[0].append(...rows.map(([, row]) => row));
  }

  function markdown(row) {
    const escaped = (words) => words.trim().replace(/\s+/g, " ").replace(/[\\`*|<>[\]~$!&]/g, "\\$&");
    const line = (cells) => `| ${cells.join(" | ")} |`;
    const columns = columnsOf(row.closest("table"));
    const values = cellsOf(row).map((cell) => escaped(cell.textContent));
    return [line(columns.map(escaped)), line(columns.map(() => "---")), line(values)].join("\n");
  }

  // The clipboard is there for pages from a file or over https; a page over http still has the old command.
  async function copy(words) {
    try {
      await navigator.clipboard.writeText(words);
    } catch {
      const area = document.body.appendChild(Object.assign(document.createElement("textarea"), { value: words }));
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  }

  function toolsOf(row) {
    const cell = document.createElement("td");
    const link = Object.assign(document.createElement("a"), { href: `#${addressOf(row)}`, textContent: "link" });
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: "copy" });
    cell.className = "tools";
    link.title = "Link to this row";
    button.title = "Copy this row as Markdown";
    button.addEventListener("click", async () => {
      await copy(markdown(row));
      button.textContent = "copied";
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    });
    cell.append(link, " ", button);
    return cell;
  }

  function equip(table) {
    if (table.dataset.equipped) return;
    table.dataset.equipped = "yes";
    readOrder(table.tBodies[0]);
    for (const heading of table.tHead.rows[0].cells) {
      const button = Object.assign(document.createElement("button"), { type: "button", title: "Sort by this column" });
      heading.dataset.name = heading.textContent;
      button.append(...heading.childNodes);
      button.addEventListener("click", () => sort(heading));
      heading.append(button);
    }
    const blank = Object.assign(document.createElement("th"), { className: "tools", scope: "col" });
    blank.setAttribute("aria-label", "link to a row, copy it");
    table.tHead.rows[0].append(blank);
    for (const row of table.tBodies[0].rows) row.append(toolsOf(row));
  }

  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) equip(entry.target);
  }, { rootMargin: "300px" });
  document.querySelectorAll("table").forEach((table) => seen.observe(table));

  // A link leads into pages that are folded; whatever is around its end is opened.
  function follow() {
    const name = decodeURIComponent(location.hash.slice(1));
    const rows = name.startsWith("row=") ? document.querySelectorAll("tbody tr") : [];
    const target = [...rows].find((row) => addressOf(row) === name) ?? document.getElementById(name);
    document.querySelector("tr.linked")?.classList.remove("linked");
    if (!target) return;
    for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
    if (target.tagName === "TR") target.classList.add("linked");
    target.scrollIntoView({ block: target.tagName === "TR" ? "center" : "start" });
  }
  addEventListener("hashchange", follow);
  if (location.hash) follow();
  charts.redraw();
