/** Words of a person for the members of a page. */
import {
  AlignLeft,
  ContactRound,
  File as FileNode,
  Heading,
  type IconNode,
  Link as LinkNode,
  Mail,
  MessageCircle,
  MessageSquare,
  Minus,
  Phone,
} from "lucide";
import type { Link, PageDocument } from "./api";

export type LinkType = Link["type"];
export interface LinkKind {
  name: string;
  node: IconNode;
  /** What its address is; nothing for what leads nowhere. */
  target: {
    label: string;
    placeholder: string;
    type: "url" | "email" | "tel";
    /** What is said of one that is refused, if it is no address of the web. */
    fault?: string;
  } | null;
  hint: string;
}

const phone = {
  label: "Phone number",
  placeholder: "+49 151 1234567",
  type: "tel",
  fault: "Enter a phone number, such as +49 151 1234567.",
} as const;
export const LINK_KINDS: Record<LinkType, LinkKind> = {
  link: {
    name: "Link",
    node: LinkNode,
    target: { label: "Address", placeholder: "https://", type: "url" },
    hint: "A website, shop or video",
  },
  email: {
    name: "E-mail",
    node: Mail,
    target: {
      label: "E-mail address",
      placeholder: "ada@example.com",
      type: "email",
      fault: "Enter an e-mail address, such as ada@example.com.",
    },
    hint: "Opens a new message",
  },
  phone: { name: "Call", node: Phone, target: phone, hint: "Starts a call" },
  whatsapp: { name: "WhatsApp", node: MessageCircle, target: phone, hint: "Opens a chat" },
  sms: { name: "Text message", node: MessageSquare, target: phone, hint: "Opens a new SMS" },
  vcard: { name: "Contact card", node: ContactRound, target: null, hint: "Saves you to contacts" },
  file: {
    name: "File",
    node: FileNode,
    target: { label: "Address of the file", placeholder: "https://", type: "url" },
    hint: "A PDF or other download",
  },
  heading: { name: "Heading", node: Heading, target: null, hint: "Begins a group of links" },
  text: { name: "Text", node: AlignLeft, target: null, hint: "A paragraph" },
  divider: { name: "Line", node: Minus, target: null, hint: "Space between links" },
};
export const LINK_TYPES = Object.keys(LINK_KINDS) as LinkType[];

export const PRESETS = [
  "minimal",
  "paper",
  "ocean",
  "forest",
  "sunset",
  "lavender",
  "slate",
  "contrast",
] as const;
export const PLATFORMS = [
  "instagram",
  "tiktok",
  "youtube",
  "facebook",
  "x",
  "threads",
  "linkedin",
  "pinterest",
  "whatsapp",
  "snapchat",
  "spotify",
  "soundcloud",
  "bandcamp",
  "twitch",
  "vimeo",
  "discord",
  "telegram",
  "bluesky",
  "mastodon",
  "github",
  "gitlab",
  "codeberg",
  "behance",
  "dribbble",
  "etsy",
  "medium",
  "substack",
  "patreon",
  "reddit",
  "tumblr",
  "website",
].filter((name) => name !== "whatsapp") as PageDocument["socials"][number]["platform"][];
/** Those whose icon may be shown: LinkedIn does not allow it. */
export const DRAWN_PLATFORMS = PLATFORMS.filter((name) => name !== "linkedin");
const OWN_WORDS: Record<string, string> = {
  tiktok: "TikTok",
  youtube: "YouTube",
  linkedin: "LinkedIn",
  soundcloud: "SoundCloud",
  github: "GitHub",
  gitlab: "GitLab",
  x: "X",
};
export const platformName = (name: string): string =>
  OWN_WORDS[name] ?? name.charAt(0).toUpperCase() + name.slice(1);

const PARTS: Record<string, string> = {
  title: "title",
  bio: "bio",
  avatar: "picture",
  cover: "cover",
  locale: "language",
  dir: "direction of the text",
  theme: "look",
  socials: "profiles",
  products: "shop",
  seo: "search and sharing",
  gate: "question before the page",
  utm: "campaign parameters",
  codes: "short links",
};

/** Says what differs between what visitors see and what will be published. */
export function differences(live: PageDocument, next: PageDocument): string[] {
  const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);
  const found: string[] = [];
  for (const [member, name] of Object.entries(PARTS)) {
    const key = member as keyof PageDocument;
    if (!isSame(live[key], next[key])) found.push(`The ${name} changed`);
  }
  return [...linkDifferences(live.links, next.links), ...found];
}

function linkDifferences(live: readonly Link[], next: readonly Link[]): string[] {
  const name = (link: Link) => (link.title ? `“${link.title}”` : LINK_KINDS[link.type].name);
  const before = new Map(live.map((link) => [link.id, link]));
  const after = new Set(next.map((link) => link.id));
  const added = next.filter((link) => !before.has(link.id)).map((link) => `${name(link)} is new`);
  const removed = live.filter((link) => !after.has(link.id)).map((link) => `${name(link)} goes`);
  const changed = next.filter(
    (link) => before.has(link.id) && JSON.stringify(before.get(link.id)) !== JSON.stringify(link),
  );
  const kept = live.filter((link) => after.has(link.id)).map((link) => link.id);
  const isMoved =
    kept.join() !==
    next
      .filter((link) => before.has(link.id))
      .map((link) => link.id)
      .join();
  return [
    ...added,
    ...removed,
    ...changed.map((link) => `${name(link)} changed`),
    ...(isMoved ? ["The order of the links changed"] : []),
  ];
}
