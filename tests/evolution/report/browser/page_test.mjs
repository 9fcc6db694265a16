// Opens report.html of two short runs in Chromium: page_test.mjs PROGRAM FOLDER PACKAGES
// PROGRAM: cupilot. FOLDER gets the runs and pictures of their pages. PACKAGES: the folder of node_modules/.
import {spawnSync} from 'node:child_process';
import {mkdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';

const [program, folder, packages] = process.argv.slice(2);
const {chromium} = createRequire(resolve(packages, 'package.json'))('playwright-core');
const failures = [];
const check = (holds, words) => holds || failures.push(words);

// Kernels of a chip have a roofline; a fake device gives many generations and refusals at once.
const landscape = {cupilot_landscape: 1, kind: 'nk', variables: 5, values: 3, k: 1, neutral: 2, seed: 4, reject: 0.2};
const runs = {
  kernels: 'gemm m=32 n=32 k=32 dtype=fp32 --device virtual:h200 --evaluations 8 --seed 3'.split(' '),
  fake: ['--device', `fake:${join(folder, 'landscape.json')}`, '--evaluations', '120', '--seed', '7'],
};

function makePage(name) {
  const run = join(folder, name);
  const ran = spawnSync(program, ['evolve', ...runs[name], '--run', run], {encoding: 'utf8'});
  if (ran.status !== 0) throw new Error(`cupilot evolve ended with ${ran.status}\n${ran.stdout}${ran.stderr}`);
  return join(run, 'report.html');
}

// In the page: for each chart the number of its dots, bars and lines that lie whole within its plot, by the name of their
// series; `text` where it says why it has none.
function drawnMarks() {
  const inside = (a, b) => a.left >= b.left - 9 && a.right <= b.right + 9 && a.top >= b.top - 9 && a.bottom <= b.bottom + 9;
  const all = {};
  for (const [name, chart] of Object.entries(globalThis.cupilotCharts ?? {})) {
    const svg = chart.getDom().querySelector('svg'), frame = svg.getBoundingClientRect();
    const {left, right, top, bottom} = chart.getOption().grid[0];
    const plot = {left: frame.left + left, right: frame.right - right, top: frame.top + top, bottom: frame.bottom - bottom};
    const shapes = [...svg.querySelectorAll('path')].map((path) => ({
      box: path.getBoundingClientRect(), fill: path.getAttribute('fill'), stroke: path.getAttribute('stroke')}));
    all[name] = {};
    for (const {type, name: series, itemStyle, symbolSize} of chart.getOption().series) {
      if (!series) continue;
      if (type === 'line') {
        all[name][series] = shapes.filter(({box, fill, stroke}) => inside(box, plot) && fill === 'none' &&
          stroke === itemStyle.color && box.width + box.height > 10).length;
        continue;
      }
      const size = type === 'scatter' ? symbolSize : 0;
      all[name][series] = shapes.filter(({box, fill, stroke}) => inside(box, plot) && box.height > 0 &&
        (fill === itemStyle.color || (itemStyle.borderColor && stroke === itemStyle.borderColor)) &&
        (size === 0 ? box.width >= 0 : Math.abs(box.width - size) < 4)).length;
    }
  }
  for (const chart of document.querySelectorAll('.chart:not(:has(svg))')) all[chart.id] = {text: chart.textContent};
  return all;
}

function expectedMarks(data) {
  const champion = (kernel) => kernel.candidate === data.champion?.candidate;
  const bars = (rows, value) => [...rows].sort((a, b) => value(b) - value(a)).slice(0, 12);
  const expected = {
    progress: {'verified kernel': data.kernels.length, 'fastest so far': 1},
    roofline: {'verified kernel': data.kernels.length, champion: 1, floor: 1,
      ceiling: data.roofline?.bandwidths.length + data.roofline?.rates.length},
    lineage: {champion: 1, 'way to the champion': data.lineage.some((kernel) => kernel.ancestor && kernel.parents.length > 0) ? 1 : 0, ancestor: data.lineage.filter((kernel) => kernel.ancestor && !champion(kernel)).length,
      'other child': data.lineage.filter((kernel) => !kernel.ancestor).length},
    phases: {'wall time': 0, 'added up over threads': 0},
  };
  for (const {phase} of bars(data.phases, (row) => row.seconds))
    ++expected.phases[phase.startsWith('search/') ? 'added up over threads' : 'wall time'];
  expected.rejections = {rejected: Math.min(12, data.rejections.length)};
  if (!data.roofline) expected.roofline = {text: 'No roofline is known for this task on this device.'};
  if (data.rejections.length === 0) expected.rejections = {text: 'No candidate was rejected.'};
  return expected;
}

async function checkHover(page, data) {
  const at = await page.evaluate(() => {
    const chart = globalThis.cupilotCharts.progress, box = chart.getDom().getBoundingClientRect();
    const dots = chart.getOption().series.find((series) => series.type === 'scatter');
    const [x, y] = chart.convertToPixel('grid', dots.data[0].value);
    return [box.left + x, box.top + y];
  });
  await page.mouse.move(at[0] - 30, at[1] - 30);
  await page.mouse.move(...at, {steps: 3});
  const tip = await page.locator('.tip').first().textContent({timeout: 2000}).catch(() => '');
  const {candidate, provenance, strategy} = data.kernels[0];
  for (const part of [`#${candidate}: `, ` us ${provenance}`, strategy])
    check(tip.includes(part), `hover over a kernel says "${tip}", which lacks "${part}"`);
}

async function look(browser, path, colorScheme, width = 1200) {
  const page = await browser.newPage({colorScheme, viewport: {width, height: 900}, offline: true});
  const said = [];
  page.on('console', (message) => message.type() === 'error' && said.push(message.text()));
  page.on('pageerror', (error) => said.push(String(error)));
  page.on('request', (request) => /^(file|data):/.test(request.url()) || said.push(`it asks for ${request.url()}`));
  await page.goto(pathToFileURL(resolve(path)).href);
  const marks = await page.evaluate(drawnMarks);
  const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const text = await page.locator('#cupilot-data').textContent({timeout: 2000}).catch(() => 'null');
  return {page, marks, said, background, text};
}

async function checkPage(browser, path, colorScheme, picture) {
  const {page, marks, said, background, text} = await look(browser, path, colorScheme);
  const data = JSON.parse(text);
  if (!data) {
    check(false, `${picture}: the page has no data`);
    return;
  }
  check(said.length === 0, `${picture}: the console says ${said.join('; ')}`);
  check(data.kernels.length > 1 && data.lineage.length > 0, `${path}: hardly a kernel was verified`);
  for (const [chart, series] of Object.entries(expectedMarks(data))) {
    for (const [name, count] of Object.entries(series)) {
      const drawn = marks[chart]?.[name] ?? (count === 0 ? 0 : 'no');
      check(drawn === count, `${picture}: ${chart} shows "${name}": ${drawn} of ${count}`);
    }
  }
  check((background === 'rgb(255, 255, 255)') === (colorScheme === 'light'), `${picture}: the page is ${background}`);
  if (colorScheme === 'light') await checkHover(page, data);
  await page.screenshot({path: picture, fullPage: true});
  await page.close();
}

// In the page: words that are shown of a chart and reach beyond its frame, and how much wider than the window the page is.
function beyondFrames() {
  const beyond = [];
  for (const [name, chart] of Object.entries(globalThis.cupilotCharts ?? {})) {
    const svg = chart.getDom().querySelector('svg'), frame = svg.getBoundingClientRect();
    for (const text of svg.querySelectorAll('text')) {
      const box = text.getBoundingClientRect(), clipped = text.closest('[clip-path]');
      const clip = clipped && document.getElementById(clipped.getAttribute('clip-path').slice(5, -1)).firstElementChild.getBBox();
      const origin = clipped?.getScreenCTM();
      const hidden = clip && (box.left >= origin.e + clip.x + clip.width || box.right <= origin.e + clip.x);
      if (!hidden && (box.left < frame.left - 1 || box.right > frame.right + 1)) beyond.push(`${name}: ${text.textContent}`);
    }
  }
  return {beyond, wider: document.documentElement.scrollWidth - innerWidth};
}

// A telephone's window shows the page whole; wide tables scroll by themselves.
async function checkNarrow(browser, path, picture) {
  const {page} = await look(browser, path, 'light', 360);
  const {beyond, wider} = await page.evaluate(beyondFrames);
  check(beyond.length === 0, `${picture}: words are cut off: ${beyond.join('; ')}`);
  check(wider <= 0, `${picture}: the page is ${wider} px wider than its window`);
  await page.screenshot({path: picture, fullPage: true});
  await page.close();
}

// The same page with its data cut off must not pass.
async function checkBroken(browser, path) {
  const broken = join(folder, 'broken.html');
  writeFileSync(broken, readFileSync(path, 'utf8').replace('id="cupilot-data">{', 'id="cupilot-data">['));
  const {page, marks, said} = await look(browser, broken, 'light');
  check(said.length > 0 && !marks.progress?.['verified kernel'], 'a page with broken data passes this test');
  await page.close();
}

rmSync(folder, {recursive: true, force: true});
mkdirSync(folder, {recursive: true});
writeFileSync(join(folder, 'landscape.json'), JSON.stringify(landscape));
const pages = Object.fromEntries(Object.keys(runs).map((name) => [name, makePage(name)]));
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync'],
});
try {
  for (const [name, path] of Object.entries(pages)) {
    for (const scheme of ['light', 'dark']) await checkPage(browser, path, scheme, join(folder, `${name}-${scheme}.png`));
  }
  for (const [name, path] of Object.entries(pages)) await checkNarrow(browser, path, join(folder, `${name}-narrow.png`));
  await checkBroken(browser, pages.kernels);
} finally {
  await browser.close();
}
for (const failure of failures) console.error(failure);
if (failures.length > 0) process.exit(1);
console.log(`each chart shows its marks; pictures in ${folder}`);
