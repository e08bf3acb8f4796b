export interface Size {
	width: number;
	height: number;
}

/**
 * The size that the header of a PNG, JPEG, GIF or WebP file declares; null for others and for broken ones. It is read
 * before the picture is decoded: a file of a few KB may declare pixels that take the whole memory.
 */
export function declaredSize(bytes: Uint8Array): Size | null {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	try {
		const start = view.getUint32(0);
		if (start === 0x89504e47) return { width: view.getUint32(16), height: view.getUint32(20) };
		if (start === 0x47494638) return { width: view.getUint16(6, true), height: view.getUint16(8, true) };
		if (start === 0x52494646 && view.getUint32(8) === 0x57454250) return sizeOfWebp(view);
		return start >>> 16 === 0xffd8 ? sizeOfJpeg(view) : null;
	} catch (error) {
		if (error instanceof RangeError) return null; // it ends within its header
		throw error;
	}
}

function sizeOfWebp(view: DataView): Size | null {
	const low24 = (at: number): number => view.getUint32(at, true) & 0xffffff;
	switch (view.getUint32(12)) {
		case 0x56503820: // "VP8 "
			return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff };
		case 0x5650384c: {
			// "VP8L"
			const bits = view.getUint32(21, true);
			return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
		}
		case 0x56503858: // "VP8X": the canvas
			return { width: low24(24) + 1, height: low24(27) + 1 };
		default:
			return null;
	}
}

function sizeOfJpeg(view: DataView): Size | null {
	let at = 2;
	for (;;) {
		if (view.getUint8(at) !== 0xff) return null;
		const marker = view.getUint8(at + 1);
		if (marker === 0xff) {
			at += 1; // a filling byte
		} else if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) {
			return { height: view.getUint16(at + 5), width: view.getUint16(at + 7) }; // a start of frame
		} else {
			const length = view.getUint16(at + 2);
			if (length < 2) return null;
			at += 2 + length;
		}
	}
}

/** The size whose longer side is at most `side`, with the same proportions. */
export function fittedSize({ width, height }: Size, side: number): Size {
	const scale = Math.min(1, side / Math.max(width, height));
	return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) };
}
