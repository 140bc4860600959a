/// The rules of Prometheus' text format 0.0.4 for names, labels and numbers.
enum PrometheusText {
    /// `label` with invalid characters replaced by `_`, ending in `suffix`.
    static func name(_ label: String, suffix: String) -> String {
        let name = identifier(label)
        return name.hasSuffix(suffix) ? name : name + suffix
    }

    /// `name="value"` for each dimension, ordered by name.
    static func labels(_ dimensions: [(String, String)]) -> String {
        dimensions.map { (identifier($0.0), $0.1) }.sorted { $0 < $1 }.map { name, value in
            "\(name)=\"\(escaped(value).replacing("\"", with: "\\\""))\""
        }.joined(separator: ",")
    }

    static func help(_ text: String) -> String { escaped(text) }

    /// The default help text: the words of the name.
    static func words(of name: String) -> String { name.replacing("_", with: " ") }

    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        if let whole = Int64(exactly: value) { return "\(whole)" }
        return "\(value)"
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
    }

    private static func identifier(_ text: String) -> String {
        let name = String(text.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") ? $0 : "_" })
        return name.first?.isNumber == false ? name : "_" + name
    }
}
