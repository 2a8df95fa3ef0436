// A reader of QR codes that is not ours, for the files that the console saves.
import { createRequire } from "node:module";
import { inflateSync } from "node:zlib";

const READER = createRequire(import.meta.url).resolve("jsqr/dist/jsQR.js");

/** Returns a function that returns what the code in a file says, and null if no code is found in it. */
export async function startReader(browser) {
  const page = await browser.newPage();
  await page.addScriptTag({ path: READER });
  return (file, type) => page.evaluate(read, [`data:${type};base64,${file.toString("base64")}`, type === "application/pdf" ? rectangles(file) : null]);
}

/** Draws a file, on gray, and reads it. Runs in the page. */
async function read([url, drawing]) {
  const canvas = new OffscreenCanvas(720, 720);
  const context = canvas.getContext("2d");
  context.fillStyle = "#bbb";
  context.fillRect(0, 0, 720, 720);
  if (drawing) {
    const { side, steps } = drawing;
    context.setTransform(600 / side, 0, 0, -600 / side, 60, 660);
    for (const { color, matrix, boxes } of steps) {
      context.save();
      context.transform(...matrix);
      context.fillStyle = `rgb(${color})`;
      // They are one path, so none has an edge of its own.
      context.beginPath();
      for (const box of boxes) context.rect(...box);
      context.fill();
      context.restore();
    }
  } else {
    const picture = new Image();
    picture.src = url;
    await picture.decode();
    context.imageSmoothingEnabled = false;
    context.drawImage(picture, 60, 60, 600, 600);
  }
  const { data, width, height } = context.getImageData(0, 0, 720, 720);
  return globalThis.jsQR(data, width, height)?.data ?? null;
}

/** What a PDF of one page fills with rectangles (ISO 32000-1, 8.5.2 and 8.4.4); its picture in the middle is left out. */
function rectangles(file) {
  const text = file.toString("latin1");
  const [, side] = text.match(/MediaBox\[0 0 (\d+) /);
  const [head, length] = text.match(/\/Length (\d+)\/Filter\/FlateDecode>>\nstream\n/);
  const start = text.indexOf(head) + head.length;
  const words = inflateSync(file.subarray(start, start + Number(length))).toString().split(/\s+/);
  const [steps, operands] = [[], []];
  let [color, matrix, boxes] = ["0,0,0", [1, 0, 0, 1, 0, 0], []];
  for (const word of words) {
    if (word === "q") break;
    if (/^[-\d.]+$/.test(word)) {
      operands.push(Number(word));
      continue;
    }
    const own = operands.splice(0);
    if (word === "rg") color = own.map((share) => Math.round(share * 255)).join();
    else if (word === "cm") matrix = own;
    else if (word === "re") boxes.push(own);
    else if (word === "f") steps.push({ color, matrix, boxes: boxes.splice(0) });
  }
  return { side: Number(side), steps };
}
