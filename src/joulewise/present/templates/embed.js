// Draws one figure; the interpreter (ast) evaluates expressions, so that the page can forbid eval.
function drawFigure(place, spec) {
  const fresh = document.createElement("div");
  place.appendChild(fresh);
  const options = {
    mode: "vega-lite", renderer: "svg", ast: true,
    actions: { export: { svg: true, png: true }, source: false, compiled: false, editor: false },
  };
  return vegaEmbed(fresh, spec, options).then(
    () => place.querySelectorAll("img.still").forEach((still) => still.remove()),
    () => fresh.remove(),
  );
}
