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
