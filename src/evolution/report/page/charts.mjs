// The charts of report.html, drawn from the page's JSON block (docs/formats/run-directory.md).
import {init, use} from 'echarts/core';
import {BarChart, LineChart, ScatterChart} from 'echarts/charts';
import {GridComponent, LegendScrollComponent, TooltipComponent} from 'echarts/components';
import {SVGRenderer} from 'echarts/renderers';

use([BarChart, LineChart, ScatterChart, GridComponent, LegendScrollComponent, TooltipComponent, SVGRenderer]);

const light = {
  ink: '#1b1b1f', quiet: '#5f6570', line: '#dfe2e8', page: '#ffffff',
  kernel: '#4477aa', best: '#1d7a33', ceiling: '#b85c00', floor: '#b3261e', other: '#a9aeb8',
};
const dark = {
  ink: '#e6e6ea', quiet: '#a0a5b0', line: '#34373f', page: '#16161a',
  kernel: '#7fb0e6', best: '#6ccb7e', ceiling: '#eb9a4a', floor: '#ff8078', other: '#6b707b',
};

// --- numbers ---

const short = (value) => String(Number(value.toPrecision(3)));
const time = (us) => (us >= 1000 ? `${short(us / 1000)} ms` : `${short(us)} us`);
function amount(value) {
  for (const [scale, letter] of [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']]) {
    if (value >= scale) return `${short(value / scale)} ${letter}`;
  }
  return short(value);
}
const plottable = (value) => Number.isFinite(value) && value > 0;

// A logarithmic axis over `values` with round ticks also where it spans less than a decade.
function logAxis(name, values, label, margin = 1.15) {
  const real = values.filter(plottable);
  const low = Math.min(...real) / margin, high = Math.max(...real) * margin;
  const decades = Math.log10(high / low);
  const ticks = decades < 0.6 ? evenTicks(low, high) : decadeTicks(low, high, decades);
  return {
    type: 'log', name, min: low, max: high,
    axisTick: {customValues: ticks},
    axisLabel: {customValues: ticks, formatter: label},
  };
}

function evenTicks(low, high) {
  const raw = (high - low) / 5, power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= raw);
  const ticks = [];
  for (let n = Math.ceil(low / step); n * step <= high; ++n) ticks.push(Number((n * step).toPrecision(12)));
  return ticks;
}

function decadeTicks(low, high, decades) {
  const mantissas = decades > 5 ? [1] : decades > 1.5 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 8];
  const ticks = [];
  for (let exponent = Math.floor(Math.log10(low)); 10 ** exponent <= high; ++exponent) {
    for (const mantissa of mantissas) {
      const tick = Number(`${mantissa}e${exponent}`);
      if (tick >= low && tick <= high) ticks.push(tick);
    }
  }
  return ticks;
}

// --- parts of options ---

// Texts of a run are set as text, never as markup.
function tip(lines) {
  const box = document.createElement('div');
  box.className = 'tip';
  lines.filter(Boolean).forEach((line, at) => {
    box.appendChild(document.createElement(at === 0 ? 'b' : 'div')).textContent = line;
  });
  return box;
}
const kernelTip = (kernel, more) => tip([
  `#${kernel.candidate}: ${time(kernel.time_us)} ${kernel.provenance}`, more,
  `generation ${kernel.generation}`, kernel.strategy]);

function axis(colours, given, gap) {
  return {
    nameLocation: 'middle', nameGap: gap, nameTextStyle: {color: colours.quiet},
    axisLine: {show: true, lineStyle: {color: colours.line}},
    splitLine: {show: true, lineStyle: {color: colours.line}},
    ...given,
    axisTick: {show: false, ...given.axisTick},
    axisLabel: {color: colours.quiet, hideOverlap: true, ...given.axisLabel},
  };
}

// One row; where it is too long for the chart it is paged.
const legend = (colours) => ({type: 'scroll', right: 8, textStyle: {color: colours.ink}, itemHeight: 10, itemGap: 16,
  pageIconColor: colours.ink, pageIconInactiveColor: colours.line, pageTextStyle: {color: colours.quiet}, pageIconSize: 11,
  animation: false});

function chart(colours, x, y, series, more = {}) {
  return {
    animation: false,
    textStyle: {fontFamily: 'system-ui, sans-serif'},
    grid: {left: 78, right: 24, top: 44, bottom: 56},
    legend: {...legend(colours), top: 4, left: 70},
    tooltip: {
      trigger: 'item', confine: true, backgroundColor: colours.page, borderColor: colours.line,
      textStyle: {color: colours.ink}, formatter: (mark) => mark.data?.tip?.() ?? '',
    },
    xAxis: axis(colours, x, 32), yAxis: axis(colours, y, 60), series, ...more,
  };
}

function dots(name, colour, size, data, more = {}) {
  return {type: 'scatter', name, symbolSize: size, itemStyle: {color: colour, opacity: 0.75},
    emphasis: {scale: 1.6}, data, ...more};
}
const ring = (colour, width) => ({color: 'transparent', borderColor: colour, borderWidth: width, opacity: 1});
function line(name, colour, data, more = {}) {
  return {type: 'line', name, data, symbol: 'none', lineStyle: {color: colour, width: 2},
    itemStyle: {color: colour}, silent: true, ...more};
}
const dashed = (colour, width = 1.5) => ({lineStyle: {color: colour, width, type: [6, 4]}});

// A point that shows nothing but a label, for a line that is named where it runs.
function named(colours, data) {
  return {type: 'scatter', silent: true, symbolSize: 1, z: 4, itemStyle: {color: 'transparent'}, data: data.map(
    ([value, text, position]) => ({value, label: {show: true, position, formatter: text, distance: 5,
      color: colours.ceiling}}))};
}

// --- the charts; each returns ECharts' options, or a sentence where there is nothing to draw ---

function progress(run, colours) {
  if (run.kernels.length === 0) return 'No kernel was verified.';
  const last = Math.max(run.proposed, ...run.kernels.map((kernel) => kernel.candidate));
  const best = [];
  for (const kernel of run.kernels) {
    if (best.length === 0 || kernel.time_us < best.at(-1)[1]) best.push([kernel.candidate, kernel.time_us]);
  }
  best.push([last, best.at(-1)[1]]);
  const provenance = run.kernels[0].provenance;
  return chart(colours,
    {type: 'value', name: 'candidate, in order of proposal', min: 0, max: last, minInterval: 1,
      splitLine: {show: false}},
    logAxis(`time, us ${provenance} (log scale)`,
      [...run.kernels, ...run.baselines].map((one) => one.time_us), short),
    [
      ...run.baselines.map((baseline) => line(
        `${baseline.name}: ${time(baseline.time_us)} ${baseline.provenance}`, colours.ceiling,
        [[0, baseline.time_us], [last, baseline.time_us]], dashed(colours.ceiling))),
      line('fastest so far', colours.best, best, {step: 'end'}),
      dots('verified kernel', colours.kernel, 7, run.kernels.map((kernel) => (
        {value: [kernel.candidate, kernel.time_us], tip: () => kernelTip(kernel)}))),
      named(colours, run.baselines.map((baseline) => [[0, baseline.time_us], baseline.name, [8, -16]])),
    ]);
}

// A bandwidth rises up to the highest rate; a rate is flat from where the first bandwidth reaches it.
function ceilings(roofline, x) {
  const most = roofline.rates[0]?.flops_per_s ?? Infinity;
  const slopes = roofline.bandwidths.map(({name, bytes_per_s}) => {
    const end = Math.min(x.max, most / bytes_per_s);
    return {name: `${name} ${amount(bytes_per_s)}B/s`, at: 'from',
      points: end > x.min ? [[x.min, bytes_per_s * x.min], [end, bytes_per_s * end]] : []};
  });
  const first = roofline.bandwidths[0]?.bytes_per_s;
  const roofs = roofline.rates.map(({name, flops_per_s}) => {
    const from = first ? Math.min(Math.max(flops_per_s / first, x.min), x.max) : x.min;
    return {name: `${name} ${amount(flops_per_s)}op/s`, at: 'to',
      points: [[from, flops_per_s], [x.max, flops_per_s]]};
  });
  return [...slopes, ...roofs].filter((ceiling) => ceiling.points.length > 0);
}

function rooflineChart(run, colours) {
  const {roofline, champion} = run;
  const kernels = run.kernels.filter((one) => plottable(one.intensity) && plottable(one.flops_per_s));
  if (!roofline || kernels.length === 0) return 'No roofline is known for this task on this device.';
  const place = (one) => [one.intensity, one.flops_per_s];
  const ends = [...kernels, roofline.floor, champion].filter(Boolean);
  const rates = roofline.rates.map((rate) => rate.flops_per_s);
  const ridges = roofline.bandwidths.flatMap(({bytes_per_s}) => rates.map((rate) => rate / bytes_per_s));
  const x = logAxis('arithmetic intensity, operations/DRAM byte (log)',
    [...ends.map((one) => one.intensity), ...ridges], amount, 2);
  const y = logAxis('performance, operations/s (log scale)',
    [...ends.map((one) => one.flops_per_s), ...rates], amount, 2);
  const drawn = ceilings(roofline, x).map((ceiling) => ({...ceiling,
    points: ceiling.points.map(([across, up]) => (up < y.min ? [across * y.min / up, y.min] : [across, up]))}));
  const pace = (one) => `${amount(one.flops_per_s)}op/s at ${short(one.intensity)} operations per DRAM byte`;
  const mark = (one) => ({value: place(one), tip: () => kernelTip(one, pace(one))});
  let fastest = Infinity;
  const path = kernels.filter((one) => one.time_us < fastest && (fastest = one.time_us));
  return chart(colours, x, y, [
    ...drawn.map((ceiling, at) => line('ceiling', colours.ceiling, ceiling.points,
      ceiling.name.startsWith(roofline.bandwidths[0]?.name) || ceiling.name.startsWith(roofline.rates[0]?.name)
        ? {} : dashed(colours.ceiling))),
    named(colours, drawn.map(({name, at, points: [from, to]}, number) => (
      at === 'to' ? [to, name, [-150, -16]] : [from, name, number === 0 ? [28, 6] : [10, -34]]))),
    line('fastest so far', colours.best, path.map(place), {lineStyle: {color: colours.best, width: 1.5}}),
    dots('verified kernel', colours.kernel, 7, kernels.map(mark)),
    ...(champion ? [dots('champion', colours.best, 13, [mark(champion)], {z: 5, itemStyle: {color: colours.best}})] : []),
    ...(roofline.floor ? [dots('floor', colours.floor, 14, [{value: place(roofline.floor),
      tip: () => tip([roofline.floor.label, 'no kernel that does this work can be faster', pace(roofline.floor)])}],
    {itemStyle: ring(colours.floor, 2.5), z: 5})] : []),
  ]);
}

function lineage(run, colours) {
  const kernels = run.lineage;
  if (kernels.length === 0) return 'No kernel was confirmed.';
  const at = new Map(kernels.map((kernel) => [kernel.candidate, kernel]));
  const place = (kernel) => [kernel.candidate, kernel.time_us];
  const edges = (onPath) => kernels.filter((child) => child.ancestor === onPath).flatMap((child) =>
    child.parents.filter((parent) => at.has(parent))
      .flatMap((parent) => [place(at.get(parent)), place(child), [null, null]]));
  const mark = (kernel) => ({value: place(kernel), tip: () => kernelTip(kernel,
    kernel.parents.length > 0 ? `bred from ${kernel.parents.map((parent) => `#${parent}`).join(' and ')}` : 'has no parent here')});
  const champion = kernels.filter((kernel) => kernel.candidate === run.champion?.candidate);
  const ancestors = kernels.filter((kernel) => kernel.ancestor && !champion.includes(kernel));
  const others = kernels.filter((kernel) => !kernel.ancestor);
  const numbers = kernels.map((kernel) => kernel.candidate);
  const margin = Math.max(1, Math.round((Math.max(...numbers) - Math.min(...numbers)) * 0.04));
  return chart(colours,
    {type: 'value', name: 'candidate, in order of proposal', minInterval: 1, splitLine: {show: false},
      min: Math.max(0, Math.min(...numbers) - margin), max: Math.max(...numbers) + margin},
    logAxis(`time, us ${kernels[0].provenance} (log scale)`, kernels.map((one) => one.time_us), short),
    [
      line('bred from', colours.other, edges(false), {lineStyle: {color: colours.other, width: 1, opacity: 0.6}}),
      line('way to the champion', colours.best, edges(true)),
      dots('other child', colours.other, 7, others.map(mark)),
      dots('ancestor', colours.kernel, 10, ancestors.map(mark), {z: 4}),
      dots('champion', colours.best, 14, champion.map(mark), {z: 5, label: {show: true, position: 'top',
        formatter: (one) => `#${one.value[0]}: ${time(one.value[1])}`, color: colours.ink}}),
    ]);
}

// The longest of `rows` as horizontal bars; a page's table has all.
function bars(colours, name, rows, series, label) {
  const shown = rows.sort((a, b) => b.value - a.value).slice(0, mostBars).reverse();
  const left = Math.min(230, 24 + 7 * Math.max(...shown.map((row) => row.name.length)));
  const several = series.length > 1;
  return chart(colours,
    {type: 'value', name, minInterval: series[0].whole ? 1 : undefined, axisLine: {show: false}},
    {type: 'category', data: shown.map((row) => row.name), splitLine: {show: false},
      axisLabel: {color: colours.ink, interval: 0, width: left - 16, overflow: 'truncate'}},
    series.map(({title, colour, has}) => ({
      type: 'bar', name: title, stack: 'all', barMaxWidth: 18, itemStyle: {color: colour},
      label: {show: true, position: 'right', color: colours.ink, formatter: (bar) => label(bar.value)},
      data: shown.map((row) => (has(row)
        ? {value: row.value, tip: () => tip([row.name, `${label(row.value)} ${title}`])} : '-')),
    })),
    {grid: {left, right: 64, top: several ? 34 : 8, bottom: 56, outerBoundsMode: 'none'},
    legend: {...legend(colours), show: several, top: 2, left: 8}});
}

function rejections(run, colours) {
  if (run.rejections.length === 0) return 'No candidate was rejected.';
  const rows = run.rejections.map(({code, count}) => ({name: code, value: count}));
  return bars(colours, 'candidates', rows, [{title: 'rejected', colour: colours.floor, has: () => true, whole: true}], String);
}

function phases(run, colours) {
  if (run.phases.length === 0) return 'No times were kept.';
  const rows = run.phases.map(({phase, seconds}) => ({name: phase, value: seconds}));
  const threads = (row) => row.name.startsWith('search/');
  const seconds = (value) => `${value < 0.01 ? short(value) : value.toFixed(2)} s`;
  return bars(colours, 'time, s', rows, [
    {title: 'wall time', colour: colours.kernel, has: (row) => !threads(row)},
    {title: 'added up over threads', colour: colours.ceiling, has: threads}], seconds);
}

const charts = {progress, roofline: rooflineChart, lineage, rejections, phases};
const height = {progress: 380, roofline: 440, lineage: 380};
const mostBars = 12;
const barsHeight = ({grid, yAxis}) => grid.top + grid.bottom + 26 * yAxis.data.length;
const printedWidth = 680;  // px: the text width of an A4 page

// Runs `draw`; what it throws is said in `element` and on the console.
function guarded(element, draw) {
  try {
    draw();
  } catch (error) {
    element.textContent = `This chart could not be drawn: ${error.message}`;
    console.error(error);
  }
}

function drawOne(name, element, run, colours, width) {
  globalThis.cupilotCharts[name]?.dispose();
  delete globalThis.cupilotCharts[name];
  guarded(element, () => {
    const options = charts[name](run(), colours);
    if (typeof options === 'string') {
      element.textContent = options;
      return;
    }
    const drawn = init(element, null, {renderer: 'svg', width, height: height[name] ?? barsHeight(options)});
    globalThis.cupilotCharts[name] = drawn;
    drawn.setOption(options);
  });
}

function main() {
  const run = () => JSON.parse(document.getElementById('cupilot-data').textContent);
  const isDark = matchMedia('(prefers-color-scheme: dark)');
  const draw = (colours, width) => {
    for (const name of Object.keys(charts)) drawOne(name, document.getElementById(name), run, colours, width);
  };
  const onScreen = () => draw(isDark.matches ? dark : light);
  globalThis.cupilotCharts = {};
  onScreen();
  isDark.addEventListener('change', onScreen);
  addEventListener('beforeprint', () => draw(light, printedWidth));
  addEventListener('afterprint', onScreen);
  addEventListener('resize', () => Object.values(globalThis.cupilotCharts).forEach((one) => one.resize()));
}

main();
