import { declaredSize, fittedSize, type Size } from './image_size';
import { AttachmentProblem, LIMITS } from './limits';

const QUALITY = 0.86;

/**
 * A picture as it is sent: drawn anew, so that it is small, upright and without what a camera adds to its file (its
 * place, for one). PNG where it stays small (drawings, screenshots), JPEG otherwise. Raises `AttachmentProblem`.
 */
export async function shrinkImage(file: Blob, name: string): Promise<Blob> {
	const head = new Uint8Array(await file.slice(0, 512 * 1024).arrayBuffer());
	const declared = declaredSize(head);
	if (declared && declared.width * declared.height > LIMITS.pixels) throw new AttachmentProblem('tooLarge', name);
	let picture: ImageBitmap;
	try {
		picture = await createImageBitmap(file);
	} catch {
		throw new AttachmentProblem('unreadable', name);
	}
	try {
		const size = fittedSize(picture, LIMITS.side);
		const isDrawing = !['image/jpeg', 'image/heic', 'image/avif'].includes(file.type);
		return await drawn(size, isDrawing, (context) => context.drawImage(picture, 0, 0, size.width, size.height));
	} finally {
		picture.close();
	}
}

/** A picture of this size that `draw` makes: PNG if it is a drawing and stays small, JPEG on white otherwise. */
export async function drawn(
	size: Size,
	isDrawing: boolean,
	draw: (context: CanvasRenderingContext2D) => unknown
): Promise<Blob> {
	const canvas = document.createElement('canvas');
	canvas.width = size.width;
	canvas.height = size.height;
	const context = canvas.getContext('2d');
	if (!context) throw new Error('the browser has no canvas');
	await draw(context);
	if (isDrawing) {
		const png = await encoded(canvas, 'image/png');
		if (png.size <= 800 * 1024) return png;
	}
	context.globalCompositeOperation = 'destination-over'; // JPEG has no transparency: what is clear becomes white
	context.fillStyle = '#ffffff';
	context.fillRect(0, 0, size.width, size.height);
	return encoded(canvas, 'image/jpeg');
}

function encoded(canvas: HTMLCanvasElement, type: string): Promise<Blob> {
	return new Promise((resolve, reject) => {
		const take = (blob: Blob | null): void => (blob ? resolve(blob) : reject(new Error('the picture is too large')));
		canvas.toBlob(take, type, QUALITY);
	});
}
