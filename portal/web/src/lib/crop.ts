/** Pictures as the places on a page want them: cut to their ratio around the middle, and no larger than shown. */
const MAX_BYTES = 2_000_000;
const MAX_WIDTH = 1_500;

/** Returns the picture, cut to the ratio of width to height. One that moves or fits stays as it is. */
export async function cropped(file: File, ratio: number): Promise<Blob> {
  if (file.type === "image/gif") return file;
  const picture = await createImageBitmap(file);
  const isRight = Math.abs(picture.width / picture.height / ratio - 1) < 0.02;
  if (isRight && picture.width <= MAX_WIDTH && file.size <= MAX_BYTES) return file;
  const width = Math.min(picture.width, picture.height * ratio);
  const height = width / ratio;
  const shown = Math.round(Math.min(width, ratio > 2 ? MAX_WIDTH : 800));
  const canvas = new OffscreenCanvas(Math.max(1, shown), Math.max(1, Math.round(shown / ratio)));
  const context = canvas.getContext("2d");
  if (!context) return file;
  const [left, top] = [(picture.width - width) / 2, (picture.height - height) / 2];
  context.drawImage(picture, left, top, width, height, 0, 0, canvas.width, canvas.height);
  return canvas.convertToBlob({ type: "image/webp", quality: 0.86 });
}

/** Sides of a logo in pixels, the largest whose file a QR code takes, and the most bytes of it. */
const LOGO_SIDES = [512, 320, 200] as const;
const LOGO_BYTES = 262_144;

export interface LogoFile {
  type: string;
  bytes: number;
  width: number;
  height: number;
}

/** Whether the image can be in a QR code of every kind as it is. */
export const isLogo = ({ type, bytes, width, height }: LogoFile): boolean =>
  type === "image/png" && bytes <= LOGO_BYTES && Math.max(width, height) <= 1_024;

/** Returns the picture as a PNG that QR codes take as their logo. */
export async function asLogo(file: Blob): Promise<Blob> {
  const picture = await createImageBitmap(file);
  let made = file;
  for (const side of LOGO_SIDES) {
    const scale = Math.min(1, side / Math.max(picture.width, picture.height));
    const [width, height] = [picture.width, picture.height].map((own) =>
      Math.max(1, Math.round(own * scale)),
    );
    const canvas = new OffscreenCanvas(width ?? 1, height ?? 1);
    canvas.getContext("2d")?.drawImage(picture, 0, 0, canvas.width, canvas.height);
    made = await canvas.convertToBlob({ type: "image/png" });
    if (made.size <= LOGO_BYTES) break;
  }
  return made;
}
