// Where a browser puts the parts of a bio-link page, what it prints, and the icon that it takes.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { findViolations } from "./parts/axe.mjs";
import { createPage, TYPICAL } from "./parts/biolink.mjs";
import { startChromium } from "./parts/chromium.mjs";
import { startEdge } from "./parts/edge.mjs";
import { image, startImages } from "./parts/images.mjs";
import { openPage } from "./parts/page.mjs";

const ARABIC = "كتاب النجوم!";
const ENGLISH = "English summary!";

/** A product whose prices have spaces in them, and are struck out. */
const product = (more) => ({
  title: "Flying machine",
  url: "https://shop.example.com/flying",
  image: { url: image("flying") },
  price: { amount: "12499.00", currency: "CHF" },
  sale_price: { amount: "11899.00", currency: "CHF" },
  ...more,
});

const shop = (slug, layout) => ({
  slug,
  title: "Shop",
  locale: "de",
  products: { layout, items: [product({ availability: "out_of_stock" }), product({}), product({ price_varies: true })] },
  status: "published",
});

const links = (slug, locale) => ({
  slug,
  title: ARABIC,
  locale,
  links: [
    { title: ARABIC, url: "https://example.com/a", description: ENGLISH },
    { title: ENGLISH, url: "https://example.com/b", description: ARABIC, icon: "spotify" },
  ],
  status: "published",
});

/** A host that nothing answers for: the image never loads. */
const BROKEN = "https://none.example.com/broken.png";
const LONG = "A description that goes on and on, much longer than a card of two columns has room for, with the whole story of how it is made.";

const cards = (preset, layout) => ({
  slug: `cards-${preset}-${layout}`,
  title: "Shop",
  theme: { preset },
  products: {
    layout,
    items: [
      product({ title: "Honey, raw, 250 g", description: LONG, image: { url: BROKEN, alt: "A jar of honey" }, sale_price: null }),
      product({ title: "On sale", description: "Short", image: { url: BROKEN, alt: "Another picture, said in other words" } }),
      product({ title: "Sold out", description: LONG, availability: "out_of_stock" }),
    ],
  },
  status: "published",
});
const CARDS = ["minimal", "ocean", "slate", "sunset"].flatMap((preset) => ["grid", "list"].map((layout) => cards(preset, layout)));

const PAGES = [
  ...CARDS,
  TYPICAL,
  shop("grid", "grid"),
  shop("list", "list"),
  links("left-to-right", "en"),
  links("right-to-left", "ar"),
  { slug: "without-avatar", title: "Ada", status: "published" },
  { slug: "gated", title: "Ada", links: [{ title: "Casino", url: "https://example.com/casino", gate: { kind: "age", min: 18 } }], status: "published" },
];

let edge;
let browser;
let images;

before(async () => {
  [edge, images] = await Promise.all([startEdge(), startImages()]);
  browser = await startChromium(images.args);
  for (const page of PAGES) await createPage(edge, page);
});
after(() => Promise.all([browser?.close(), edge?.end(), images?.end()]));

/** Opens a page. */
async function open(slug, options = {}) {
  const opened = await openPage(browser, `${edge.origin}/${slug}`, { ignoreHTTPSErrors: true, ...options }, { waitUntil: "networkidle" });
  return opened.page;
}

/** The place of each character of the texts that hold this one, by what is around it. */
const placesOf = (page, text) =>
  page.evaluate((wanted) => {
    const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
    const found = [];
    while (walker.nextNode()) {
      const node = walker.currentNode;
      const at = node.data.indexOf(wanted);
      if (at < 0) continue;
      const left = (place) => {
        const range = document.createRange();
        range.setStart(node, at + place);
        range.setEnd(node, at + place + 1);
        return range.getBoundingClientRect().left;
      };
      found.push({ around: node.parentElement.tagName, first: left(0), last: left(wanted.length - 1) });
    }
    return found;
  }, text);

for (const slug of ["left-to-right", "right-to-left"]) {
  test(`titles and descriptions of links go their own way on a page that goes ${slug}`, async () => {
    const page = await open(slug);
    const [arabic, english] = [await placesOf(page, ARABIC), await placesOf(page, ENGLISH)];
    assert.deepEqual(arabic.map(({ around }) => around), ["H1", "A", "SPAN"]);
    assert.deepEqual(english.map(({ around }) => around), ["SPAN", "DIV"]);
    // A mark at the end has no direction of its own.
    for (const { around, first, last } of arabic) assert.ok(last < first, `${around}: ${last} < ${first}`);
    for (const { around, first, last } of english) assert.ok(last > first, `${around}: ${last} > ${first}`);
    await page.close();
  });
}

/** The places of the parts of the first product, which is sold out. */
const partsOfFirst = (page) =>
  page.evaluate(() => {
    const card = document.querySelector(".products .link");
    const place = (element) => {
      const { left, top, right, bottom } = element.getBoundingClientRect();
      return { left, top, right, bottom };
    };
    const note = [...card.querySelectorAll("span")].find((span) => span.textContent === "Ausverkauft");
    return { card: place(card), picture: place(card.querySelector("img")), price: place(card.querySelector(".cost")), note: place(note) };
  });

for (const layout of ["grid", "list"]) {
  test(`sold-out note of a ${layout} is below the price and beside no picture`, async () => {
    for (const width of [320, 360, 1280]) {
      const page = await open(layout, { viewport: { width, height: 720 } });
      const { card, picture, price, note } = await partsOfFirst(page);
      const seen = JSON.stringify({ width, card, picture, price, note });
      assert.ok(note.top >= price.bottom && note.bottom <= card.bottom, seen);
      assert.ok(note.left >= card.left && note.right <= card.right, seen);
      if (layout === "grid") assert.ok(note.top >= picture.bottom, seen);
      else assert.ok(note.left >= picture.right, seen);
      await page.close();
    }
  });

  test(`prices of a ${layout} are never broken before their currency`, async () => {
    const page = await open(layout, { viewport: { width: 320, height: 720 } });
    for (let width = 320; width <= 480; width += 4) {
      await page.setViewportSize({ width, height: 720 });
      const lines = await page.evaluate(() => [...document.querySelectorAll(".products bdi")].map((price) => [price.textContent, price.getClientRects().length]));
      assert.equal(lines.length, 6);
      for (const [text, count] of lines) assert.equal(count, 1, `${text} at ${width} px`);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
    }
    await page.close();
  });
}

/** What a visitor sees of the three products. */
const seenOf = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll(".products .link")].map((card) => {
      const style = (selector) => (selector ? card.querySelector(selector) : card) && getComputedStyle(selector ? card.querySelector(selector) : card);
      const about = card.querySelector(".about");
      return {
        text: style().color,
        price: style(".cost b")?.color ?? style(".cost").color,
        before: style(".cost s")?.textDecorationLine,
        image: [style("img").opacity, style("img").filter],
        lines: about.clientHeight / Number.parseFloat(getComputedStyle(about).lineHeight),
        isCut: about.scrollHeight > about.clientHeight,
      };
    }),
  );

for (const { slug, products } of CARDS) {
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [360, 1280]) {
      test(`${slug} in ${colorScheme} at ${width} px shows what is sold out, on sale and missing`, async () => {
        const page = await open(slug, { viewport: { width, height: 900 }, colorScheme });
        const [usual, sale, out] = await seenOf(page);
        const seen = JSON.stringify({ usual, sale, out });
        for (const { lines } of [usual, sale, out]) assert.ok(lines < 2.1, seen);
        if (products.layout === "grid") assert.ok(usual.isCut && out.isCut, seen);
        assert.ok(!sale.isCut, seen);
        assert.equal(usual.price, usual.text);
        assert.ok(sale.price !== sale.text && sale.before === "line-through", seen);
        assert.ok(out.text !== usual.text && out.price === out.text, seen);
        assert.deepEqual([usual.image, out.image], [["1", "none"], ["0.45", "grayscale(1)"]]);
        // It looks the same with other words: they are not seen.
        const broken = page.locator(".products img").first();
        assert.equal(await broken.evaluate((shown) => shown.complete && shown.naturalWidth), 0);
        await broken.scrollIntoViewIfNeeded();
        const box = await broken.boundingBox();
        // Without the edges, through which what is below shines.
        const [x, y, side] = [box.x + 10, box.y + 10, box.width - 20].map(Math.floor);
        const shot = () => page.screenshot({ clip: { x, y, width: side, height: side } });
        const first = await shot();
        await broken.evaluate((shown) => Object.assign(shown, { alt: "Other words, and more of them" }));
        assert.ok(first.equals(await shot()), "a broken image shows its words");
        assert.deepEqual(await findViolations(page), []);
        await page.close();
      });
    }
  }
}

test("number and its unit are never on two lines", async () => {
  const page = await open("cards-slate-grid", { viewport: { width: 320, height: 720 } });
  for (let width = 320; width <= 480; width += 4) {
    await page.setViewportSize({ width, height: 720 });
    const lines = await page.evaluate(() => {
      const title = document.querySelector(".products .link div").firstChild;
      const range = document.createRange();
      range.setStart(title, title.data.indexOf("250"));
      range.setEnd(title, title.data.trimEnd().length);
      return [range.toString(), new Set([...range.getClientRects()].map(({ top }) => top)).size];
    });
    assert.deepEqual(lines, ["250\u00a0g", 1], `at ${width} px`);
  }
  await page.close();
});

test("printed page has the addresses of its links and its code, in black on white", async () => {
  const page = await open(TYPICAL.slug, { colorScheme: "dark" });
  const requests = [];
  page.on("request", (request) => requests.push(request.url()));
  const code = page.locator("img.qr");
  const shown = () =>
    page.evaluate(() =>
      [...document.querySelectorAll("main .link")].map((link) => {
        const { display, content } = getComputedStyle(link, "::after");
        return display === "block" ? content.replace(/^"|"$/g, "") : null;
      }),
    );
  assert.ok((await shown()).every((address) => address === null));
  assert.equal(await code.isVisible(), false);
  await page.emulateMedia({ media: "print", colorScheme: "dark" });

  const expected = [
    "example.com/notes", "example.com/newsletter", "example.com/calculus", "example.com/letters", "example.com/science",
    "example.com/podcast", "example.com/talks", "ada@example.com", null,
    ...TYPICAL.products.items.map((_, at) => `shop.example.com/${at}`),
  ];
  assert.deepEqual(await shown(), expected);
  assert.equal(await code.isVisible(), true);
  await code.scrollIntoViewIfNeeded();
  await page.waitForFunction(() => document.querySelector("img.qr").naturalWidth > 0);
  assert.deepEqual(requests, [`${edge.origin}/${TYPICAL.slug}/qr.svg`]);
  const colors = await page.evaluate(() => ["color", "backgroundColor"].map((name) => getComputedStyle(document.body)[name]));
  assert.deepEqual(colors, ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]);
  assert.equal(await page.locator("footer a").isVisible(), false);
  await page.close();
});

test("printed page keeps an address that visitors are to confirm first", async () => {
  const page = await open("gated");
  await page.emulateMedia({ media: "print" });
  const address = await page.evaluate(() => getComputedStyle(document.querySelector(".link"), "::after").content);
  assert.equal(address, "none");
  await page.close();
});

/** The icons of a page by what they are for, and whether the page may show them. */
const iconsOf = (page) =>
  page.evaluate(() =>
    Promise.all(
      [...document.querySelectorAll('link[rel="icon"], link[rel="apple-touch-icon"]')].map(async ({ rel, href }) => {
        const icon = new Image();
        icon.src = href;
        await icon.decode();
        return [rel, href.split(",")[0]];
      }),
    ),
  );

test("icon of a page is its avatar, or a disc in its color", async () => {
  const [own, plain] = [await open(TYPICAL.slug), await open("without-avatar")];
  assert.deepEqual(await iconsOf(own), [["icon", TYPICAL.avatar.url], ["apple-touch-icon", TYPICAL.avatar.url]]);
  assert.deepEqual(await iconsOf(plain), [["icon", "data:image/svg+xml"]]);
  await Promise.all([own.close(), plain.close()]);
});
