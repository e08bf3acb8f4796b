/**
 * The address of Flower; undefined without Flower, and if it is on the loopback of the platform's host and the page is not: `host`
 * is that of the page.
 */
export function flowerAt(flower: string | null | undefined, host: string): string | undefined {
	if (!flower) return undefined;
	let url: URL;
	try {
		url = new URL(flower);
	} catch {
		return undefined;
	}
	if (!['http:', 'https:'].includes(url.protocol)) return undefined;
	if (isLoopback(url.hostname) && !isLoopback(host)) return undefined;
	return url.href.replace(/\/$/, '');
}

/** The address of a Celery task in Flower; undefined where Flower cannot be reached. */
export function flowerTask(flower: string | null, task: string, host: string): string | undefined {
	const address = flowerAt(flower, host);
	return address && `${address}/task/${encodeURIComponent(task)}`;
}

function isLoopback(host: string): boolean {
	return host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
}
