import workerAddress from 'pdfjs-dist/build/pdf.worker.min.mjs?url';
import * as pdfjs from 'pdfjs-dist';
import type { PDFDocumentProxy } from 'pdfjs-dist';
import { startWorker } from '$lib/services/worker';
import { fittedSize } from './image_size';
import { drawn } from './image';
import { AttachmentProblem, LIMITS } from './limits';
import { joinPageText, type TextPiece } from './pdf_text';

/** The longer side of a page's picture: small print stays readable. */
const PAGE_SIDE = 1400;

export interface ReadPdf {
	text: string;
	pages: Blob[];
	/** How many pages the file has; more than were read of a long one. */
	pageCount: number;
}

/**
 * Read a PDF in a worker of its own: its text, and pictures of its first pages if they are wanted (`always`), or if it
 * has no text (`scanned`). This module is loaded when the first PDF comes. Raises `AttachmentProblem`.
 */
export async function readPdf(file: Blob, name: string, pictures: 'scanned' | 'always'): Promise<ReadPdf> {
	const data = new Uint8Array(await file.arrayBuffer());
	const port = startWorker(workerAddress);
	const worker = pdfjs.PDFWorker.create({ port });
	let timer: ReturnType<typeof setTimeout> | undefined;
	const late = new Promise<never>((_, reject) => {
		timer = setTimeout(() => reject(new AttachmentProblem('tooSlow', name)), LIMITS.pdfMs);
	});
	const unloaded = new Promise<never>((_, reject) => {
		let isLoaded = false;
		port.addEventListener('message', () => (isLoaded = true), { once: true });
		port.addEventListener('error', () => isLoaded || reject(new AttachmentProblem('noReader', name)));
	});
	try {
		const options = { data, worker, useWasm: false, enableXfa: false, stopAtErrors: false, verbosity: 0 };
		const loading = pdfjs.getDocument(options);
		return await Promise.race([late, unloaded, loading.promise.then((document) => readDocument(document, pictures))]);
	} catch (error) {
		if (error instanceof AttachmentProblem) throw error;
		const isLocked = error instanceof Error && error.name === 'PasswordException';
		throw new AttachmentProblem(isLocked ? 'locked' : 'unreadable', name);
	} finally {
		clearTimeout(timer);
		worker.destroy();
		port.terminate(); // also in the middle of an endless page
	}
}

async function readDocument(document: PDFDocumentProxy, pictures: 'scanned' | 'always'): Promise<ReadPdf> {
	const texts: string[] = [];
	let length = 0;
	for (let number = 1; number <= Math.min(document.numPages, LIMITS.pdfPages) && length < LIMITS.textBytes; number++) {
		const page = await document.getPage(number);
		const content = await page.getTextContent();
		const text = joinPageText(content.items.filter((item): item is TextPiece & typeof item => 'str' in item));
		texts.push(text);
		length += text.length;
		page.cleanup();
	}
	const text = texts
		.filter((page) => page !== '')
		.join('\n\n')
		.slice(0, LIMITS.textBytes);
	const pages = pictures === 'always' || text === '' ? await drawPages(document) : [];
	return { text, pages, pageCount: document.numPages };
}

async function drawPages(document: PDFDocumentProxy): Promise<Blob[]> {
	const pages: Blob[] = [];
	for (let number = 1; number <= Math.min(document.numPages, LIMITS.pdfPictures); number++) {
		const page = await document.getPage(number);
		const { width, height } = page.getViewport({ scale: 1 });
		const longer = Math.max(width, height);
		const size = fittedSize({ width: (width / longer) * PAGE_SIDE, height: (height / longer) * PAGE_SIDE }, PAGE_SIDE);
		const viewport = page.getViewport({ scale: PAGE_SIDE / longer });
		const draw = (canvasContext: CanvasRenderingContext2D): Promise<void> =>
			page.render({ canvasContext, canvas: canvasContext.canvas, viewport, intent: 'print' }).promise;
		pages.push(await drawn(size, false, draw));
		page.cleanup();
	}
	return pages;
}
