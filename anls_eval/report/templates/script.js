"use strict";
// Search and sorting of the table of questions. All else works without a script.
(() => {
  const table = document.getElementById("question-table");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const tools = document.getElementById("question-tools");
  const search = document.getElementById("question-search");
  const loss = document.getElementById("question-loss");
  const count = document.getElementById("question-count");

  const filter = () => {
    const wanted = search.value.trim().toLowerCase().split(/\s+/);
    let visible = 0;
    rows.forEach((row, index) => {
      const fits = wanted.every((word) => texts[index].includes(word));
      row.hidden = !fits || Boolean(loss && loss.value && row.dataset.loss !== loss.value);
      visible += row.hidden ? 0 : 1;
    });
    count.textContent = `${visible.toLocaleString("en")} of ${rows.length.toLocaleString("en")} shown`;
  };

  const collator = new Intl.Collator("en", { numeric: true });
  const value = (row, column) => row.cells[column].textContent.trim();
  const sort = (header, column) => {
    const ascending = header.getAttribute("aria-sort") !== "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const sign = ascending ? 1 : -1;
    const sorted = rows.slice().sort((a, b) => sign * collator.compare(value(a, column), value(b, column)));
    body.append(...sorted);
  };

  Array.from(table.tHead.rows[0].cells).forEach((header, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = header.textContent;
    button.addEventListener("click", () => sort(header, column));
    header.replaceChildren(button);
  });
  search.addEventListener("input", filter);
  if (loss) loss.addEventListener("change", filter);
  tools.hidden = false;
  filter();
})();
