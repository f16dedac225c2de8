// The two charts of the overview: one time axis, dragging zooms, and the zoom is in the address.
(() => {
  const stack = [["cancelled", "--cancelled"], ["failed", "--failed"], ["retried", "--retry"], ["completed", "--completed"]];
  const lines = [["wait_p50", "wait p50", "--waiting", []], ["wait_p95", "wait p95", "--waiting", [5, 4]],
    ["run_p50", "run p50", "--running", []], ["run_p95", "run p95", "--running", [5, 4]]];
  const together = window.uPlot?.sync("overview");
  let plots = [];
  let drawn = "";

  // A canvas knows no custom properties: an element says what a colour is in this theme.
  function colour(name) {
    const probe = document.createElement("span");
    probe.style.color = `var(${name})`;
    document.body.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  }

  const tint = (name) => colour(name).replace(/^rgb\((.*)\)$/, "rgba($1, .45)");

  const spans = (seconds) => seconds == null ? "–" : seconds < 1 ? `${+(seconds * 1000).toPrecision(2)} ms`
    : seconds < 60 ? `${+seconds.toPrecision(2)} s` : seconds < 3600 ? `${+(seconds / 60).toPrecision(2)} min` : `${+(seconds / 3600).toPrecision(2)} h`;
  const stamp = window.uPlot?.fmtDate("{YYYY}-{MM}-{DD} {HH}:{mm}");
  const rate = (value) => value == null ? "–" : +value.toFixed(2);

  function zoom(plot) {
    if (plot.select.width < 8) return;
    const [from, to] = [plot.posToVal(plot.select.left, "x"), plot.posToVal(plot.select.left + plot.select.width, "x")];
    const there = new URL(location.href);
    there.searchParams.set("from", Math.floor(from / 60) * 60);
    there.searchParams.set("to", Math.max(Math.ceil(to / 60) * 60, Math.floor(from / 60) * 60 + 300));
    location.assign(there);
  }

  function options(place, series, written, bands = []) {
    const [ink, grid] = [colour("--muted"), colour("--line")];
    const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, font: "12px system-ui, sans-serif" };
    return {
      bands, width: place.clientWidth, height: 220, series: [{ value: (_plot, at) => at == null ? "" : stamp(inZone(new Date(at * 1000))) }, ...series],
      scales: { y: { range: (_plot, _least, most) => [0, most > 0 ? most * 1.08 : 1] } },
      axes: [{ ...axis, size: 36, values: uPlot.fmtDate && times }, { ...axis, size: 68, values: (_plot, values) => values.map(written) }],
      cursor: { sync: { key: together.key, setSeries: false }, drag: { x: true, y: false, setScale: false } },
      tzDate: (seconds) => inZone(new Date(seconds * 1000)), hooks: { setSelect: [zoom] },
      legend: { live: true, markers: { width: 3, fill: null, dash: (plot, nth) => plot.series[nth].dash?.length ? "dashed" : "solid" } },
    };
  }
  // As times elsewhere on the page: of this browser, or UTC.
  const inZone = (at) => (document.documentElement.dataset.zone === "utc" ? uPlot.tzDate(at, "Etc/UTC") : at);
  function times(_plot, splits, _axis, _space, step) {
    const write = uPlot.fmtDate(step >= 86400 ? "{D} {MMM}" : "{HH}:{mm}");
    const day = uPlot.fmtDate("{D} {MMM}");
    return splits.map((each) => {
      const at = inZone(new Date(each * 1000));
      return step < 86400 && at.getHours() === 0 && at.getMinutes() === 0 ? day(at) : write(at);
    });
  }

  // A line needs two neighbours; what has none is a point.
  function alone(plot, nth) {
    const values = plot.data[nth];
    return values.flatMap((value, n) => value != null && values[n - 1] == null && values[n + 1] == null ? [n] : []);
  }

  // Each line lies on top of those below it; what the running minute has so far is led to from the last whole one, and dashed.
  function stacked(series) {
    const data = [];
    let sum = series.at.map(() => 0);
    for (const [name] of [...stack].reverse()) {
      sum = sum.map((below, n) => series[name][n] == null ? null : below + series[name][n]);
      data.unshift(sum);
    }
    const soFar = series.so_far.map((value, n) => value ?? (series.so_far[n + 1] == null ? null : sum[n]));
    return [series.at, ...data, soFar];
  }

  function draw(again) {
    const place = document.querySelector(".charts[data-series]");
    if (!place || !window.uPlot || (place.dataset.series === drawn && !again)) return;
    drawn = place.dataset.series;
    const series = JSON.parse(drawn);
    const data = [stacked(series), [series.at, ...lines.map(([name]) => series[name])]];
    if (plots.length && !again) return plots.forEach((plot, n) => plot.setData(data[n]));
    plots.forEach((plot) => plot.destroy());
    const [throughput, latency] = ["throughput", "latency"].map((id) => document.getElementById(id));
    const areas = stack.map(([name, of]) => ({
      label: name, stroke: colour(of), width: 1.25, points: { show: false },
      value: (_plot, _value, _series, n) => n == null ? "" : rate(JSON.parse(drawn)[name][n]),
    }));
    const bands = stack.slice(0, -1).map(([, of], n) => ({ series: [n + 1, n + 2], fill: tint(of) }));
    areas.at(-1).fill = tint(stack.at(-1)[1]);
    areas.push({
      label: "this minute so far", stroke: colour("--muted"), dash: [3, 4], width: 1.5, points: { show: false },
      value: (_plot, _value, _series, n) => n == null ? "" : rate(JSON.parse(drawn).so_far[n]),
    });
    const curves = lines.map(([, label, of, dash]) => ({
      label, stroke: colour(of), dash, width: 1.75, spanGaps: false, points: { show: true, size: 4, filter: alone }, value: (_plot, value, _series, n) => n == null ? "" : spans(value),
    }));
    plots = [new uPlot(options(throughput, areas, rate, bands), data[0], throughput), new uPlot(options(latency, curves, spans), data[1], latency)];
  }

  draw();
  document.addEventListener("holdfast:swapped", () => draw());
  const redraw = () => draw(true);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  new MutationObserver(redraw).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme", "data-zone"] });
  let settling;
  addEventListener("resize", () => {
    clearTimeout(settling);
    settling = setTimeout(() => plots.forEach((plot) => plot.setSize({ width: plot.root.parentElement.clientWidth, height: 220 })), 100);
  });
})();
