// Bio-link pages as clients of the API write them.
import assert from "node:assert/strict";
import { image } from "./images.mjs";

/** A typical page: 12 links and 6 products. */
export const TYPICAL = {
  slug: "ada",
  title: "Ada Lovelace",
  bio: "Notes on engines, numbers and music.\nLondon",
  avatar: { url: image("ada"), alt: "Portrait of Ada Lovelace" },
  socials: [
    { platform: "github", url: "https://github.com/ada" },
    { platform: "mastodon", url: "https://mastodon.example.com/@ada" },
    { platform: "youtube", url: "https://youtube.com/@ada" },
  ],
  links: [
    { title: "Notes on the Analytical Engine", url: "https://example.com/notes", highlight: true, description: "The annotated translation" },
    { title: "Newsletter", url: "https://example.com/newsletter", description: "Every first Monday" },
    { type: "heading", title: "Read" },
    { title: "Sketch of a calculus of the nervous system", url: "https://example.com/calculus" },
    { title: "Letters to Charles Babbage", url: "https://example.com/letters" },
    { title: "Poetical science, a collection", url: "https://example.com/science" },
    { type: "heading", title: "Listen and meet" },
    { title: "Podcast: The first program", url: "https://example.com/podcast" },
    { title: "Talks and dates", url: "https://example.com/talks" },
    { type: "divider" },
    { type: "email", title: "Write to me", url: "ada@example.com" },
    { type: "vcard", title: "Save my contact" },
  ],
  products: {
    title: "Shop",
    items: [
      ["Poster: Diagram of Note G", "18.00"],
      ["Notebook with punched cover", "12.50"],
      ["Bernoulli tea towel", "9.90"],
      ["Difference engine, paper model", "24.00"],
      ["Flying machine print", "15.00"],
      ["Set of operation cards", "6.40"],
    ].map(([title, amount], at) => ({
      title,
      url: `https://shop.example.com/${at}`,
      image: { url: image(`product-${at}`) },
      price: { amount, currency: "EUR" },
      ...(at === 2 ? { sale_price: { amount: "7.90", currency: "EUR" } } : {}),
      ...(at === 5 ? { availability: "preorder" } : {}),
    })),
  },
  status: "published",
};

/** A page in each preset, with all that it can show, and one with a picture behind it. */
export const LOOKS = ["minimal", "paper", "ocean", "forest", "sunset", "lavender", "slate", "contrast", "picture"].map((name) => ({
  ...TYPICAL,
  slug: `look-${name}`,
  cover: { url: image("cover") },
  socials: ["instagram", "youtube", "tiktok", "github", "linkedin", "spotify"].map((platform) => ({ platform, url: "https://example.com/ada" })),
  theme: name === "picture" ? { preset: "slate", background: "image", image: { url: image("back") } } : { preset: name },
  links: [
    { title: "Notes on the Analytical Engine", url: "https://example.com/notes", highlight: true, description: "The annotated translation" },
    { title: "Listen on Spotify", url: "https://example.com/podcast", icon: "spotify" },
    { title: "Film: Poetical science", url: "https://example.com/film", image: { url: image("film") } },
    ...TYPICAL.links.slice(2),
  ],
}));

/** The same from right to left. */
export const RIGHT_TO_LEFT = {
  slug: "maryam",
  title: "مريم الأسطرلابي",
  bio: "صناعة الأسطرلابات وكتابة الملاحظات عن النجوم.\nحلب",
  locale: "ar",
  avatar: { url: image("maryam"), alt: "صورة مريم" },
  theme: { preset: "ocean", shape: "pill" },
  socials: [
    { platform: "instagram", url: "https://instagram.com/maryam" },
    { platform: "website", url: "https://example.com/maryam", label: "الموقع" },
  ],
  links: [
    { title: "كتاب النجوم", url: "https://example.com/stars", highlight: true, description: "الطبعة الثانية" },
    { title: "الدروس المسجلة", url: "https://example.com/lessons" },
    { type: "heading", title: "تواصل" },
    { title: "English summary", url: "https://example.com/en" },
    { type: "phone", title: "اتصل بي", url: "+963 11 1234567" },
  ],
  products: {
    title: "المتجر",
    layout: "list",
    items: [
      { title: "أسطرلاب نحاسي", url: "https://shop.example.com/brass", image: { url: image("brass") }, price: { amount: "120.00", currency: "USD" } },
      {
        title: "خريطة السماء",
        url: "https://shop.example.com/map",
        price: { amount: "20.00", currency: "USD" },
        sale_price: { amount: "15.00", currency: "USD" },
      },
    ],
  },
  status: "published",
};

/** The largest page that the figures name: 100 links and 50 products. */
export const LARGE = {
  ...TYPICAL,
  slug: "large",
  links: Array.from({ length: 100 }, (_, at) => ({ title: `Chapter ${at + 1} of the notes`, url: `https://example.com/chapters/${at + 1}` })),
  products: {
    title: "Shop",
    items: Array.from({ length: 50 }, (_, at) => ({
      title: `Print number ${at + 1}`,
      url: `https://shop.example.com/prints/${at + 1}`,
      image: { url: image(`print-${at + 1}`) },
      price: { amount: `${10 + at}.00`, currency: "EUR" },
    })),
  },
};

/** Creates a page under a key of its own, `key` of what is returned. Its address is `urls.public`. `more` are fields of the key. */
export async function createPage(edge, page, more = {}) {
  const key = await edge.issueKey({ biolink_plan: "business", ...more });
  const response = await fetch(`${edge.origin}/pages`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": key },
    body: JSON.stringify(page),
  });
  const created = await response.json();
  assert.equal(response.status, 201, JSON.stringify(created));
  return { ...created, key };
}
