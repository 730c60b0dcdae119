// @ts-check
// Draws what `src/logic/latency.ts` has worked out. No source code gets here, only times.

const vscode = acquireVsCodeApi();

const ROW = 22;
const BAR = 12;
const TOP = 20;
const LEFT = 64;
/** Share of the width for the bars; the rest is for the notes. */
const BARS = 0.58;

/**
 * @param {string} name
 * @param {Record<string, string | number>} attributes
 * @param {string} [text]
 */
function svg(name, attributes, text) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) {
    element.setAttribute(key, String(value));
  }
  if (text !== undefined) {
    element.textContent = text;
  }
  return element;
}

/** @param {string} id */
function byId(id) {
  const element = document.getElementById(id);
  if (element === null) {
    throw new Error(`no element ${id}`);
  }
  return element;
}

/** @param {import('../src/logic/latency.ts').Bar | undefined} bar */
function legend(bar) {
  const items = (bar?.stages ?? []).map(({ stage }) => {
    const item = document.createElement('li');
    const square = svg('svg', { viewBox: '0 0 10 10' });
    square.append(svg('rect', { width: 10, height: 10, class: stageClass(stage) }));
    item.append(square, stage);
    return item;
  });
  byId('legend').replaceChildren(...items);
}

/** @param {string} stage */
function stageClass(stage) {
  return `stage-${['language server', 'network', 'queue', 'prefill', 'decode'].indexOf(stage)}`;
}

/** @param {import('../src/logic/latency.ts').Chart} chart */
function draw({ bars, scaleMs, budgetMs }) {
  const chart = byId('chart');
  const width = Math.max(chart.clientWidth, 480);
  const height = TOP + bars.length * ROW + 8;
  const room = (width - LEFT) * BARS;
  /** @param {number} ms */
  const length = (ms) => (ms / scaleMs) * room;

  chart.setAttribute('viewBox', `0 0 ${width} ${height}`);
  const drawn = [];
  if (budgetMs !== undefined) {
    const budget = LEFT + length(budgetMs);
    drawn.push(
      svg('line', { x1: budget, x2: budget, y1: TOP - 4, y2: height, class: 'budget' }),
      svg('text', { x: budget, y: TOP - 8, 'text-anchor': 'middle' }, `budget ${budgetMs} ms`),
    );
  }
  bars.forEach((bar, row) => {
    const top = TOP + row * ROW;
    const label = svg(
      'text',
      { x: LEFT - 8, y: top + BAR - 2, 'text-anchor': 'end' },
      `${Math.round(bar.answeredMs)} ms`,
    );
    drawn.push(label);
    let left = LEFT;
    for (const { stage, ms } of bar.stages) {
      const rect = svg('rect', { x: left, y: top, width: length(ms), height: BAR, class: stageClass(stage) });
      rect.append(svg('title', {}, `${stage}: ${ms.toFixed(1)} ms`));
      drawn.push(rect);
      left += length(ms);
    }
    const answered = LEFT + length(bar.answeredMs);
    drawn.push(
      svg('line', { x1: answered, x2: answered, y1: top - 2, y2: top + BAR + 2, class: 'answered' }),
      svg('text', { x: LEFT + room + 12, y: top + BAR - 2, class: 'note' }, bar.note),
    );
  });
  chart.replaceChildren(...drawn);
  legend(bars.toSorted((a, b) => b.stages.length - a.stages.length)[0]);
}

/** @type {import('../src/logic/latency.ts').Chart | undefined} */
let last;

window.addEventListener('message', ({ data }) => {
  last = data.chart;
  byId('statistics').textContent = data.lines.join(' · ');
  draw(data.chart);
});
window.addEventListener('resize', () => {
  if (last !== undefined) {
    draw(last);
  }
});
vscode.postMessage('loaded');
