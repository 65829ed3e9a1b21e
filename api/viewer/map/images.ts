import { penOf } from '../page/page.ts';

/** Names of the map's own images. */
export const ARROW = 'arrow';
export const HATCH = 'hatch';
/** Images are drawn at twice their size on the map. */
export const IMAGE_PIXEL_RATIO = 2;

/** Arrow head of a storm's motion, pointing east. */
export function arrowImage(color: string): ImageData {
  return drawImage(32, (pen) => {
    pen.fillStyle = color;
    pen.beginPath();
    pen.moveTo(26, 16);
    pen.lineTo(8, 7);
    pen.lineTo(12, 16);
    pen.lineTo(8, 25);
    pen.closePath();
    pen.fill();
  });
}

/** Thin diagonal lines, transparent between them; repeats over an area. */
export function hatchImage(color: string): ImageData {
  return drawImage(16, (pen, side) => {
    pen.strokeStyle = color;
    pen.lineWidth = 1.5;
    pen.beginPath();
    for (const from of [-side, 0, side]) {
      pen.moveTo(from, side);
      pen.lineTo(from + side, 0);
    }
    pen.stroke();
  });
}

/** A square image, `side` in pixels. */
function drawImage(side: number, draw: (pen: CanvasRenderingContext2D, side: number) => void): ImageData {
  const canvas = document.createElement('canvas');
  canvas.width = side;
  canvas.height = side;
  const pen = penOf(canvas);
  draw(pen, side);
  return pen.getImageData(0, 0, side, side);
}
