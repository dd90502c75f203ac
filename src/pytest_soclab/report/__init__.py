"""Results to text, as pure functions: HTML, summary, terminal, JUnit, SARIF; nothing here counts or decides."""
