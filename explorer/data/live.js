"use strict";
// Asks the server that the page came from whether there is a newer one, and loads it.
(() => {
  const place = document.getElementById("live");
  const ask = async () => {
    try {
      const state = await (await fetch("state", { cache: "no-store" })).json();
      if (String(state.version) !== place.dataset.version) return location.reload();
      place.textContent = state.seconds === null ? "" : `The file was saved: a new page is being made (${state.seconds} s).`;
    } catch {
      place.textContent = "gradscribe explore has ended.";
    }
    setTimeout(ask, 400);
  };
  ask();
})();
