/** The sources of the library, which are smaller than its bundle: without the chemistry. */
declare module 'temml/temml.js' {
	const temml: {
		render(tex: string, element: HTMLElement, options?: Record<string, unknown>): void;
		renderToString(tex: string, options?: Record<string, unknown>): string;
	};
	export default temml;
}
