/// All series with one name.
struct MetricFamily: Sendable {
    enum Kind: String {
        case counter, gauge, histogram
    }

    let kind: Kind
    /// The series by their rendered labels.
    var series: [String: any MetricSeries] = [:]

    func rendered(_ name: String, help: String) -> String {
        let samples = series.sorted { $0.key < $1.key }.map { $0.value.samples }.joined()
        return "# HELP \(name) \(PrometheusText.help(help))\n# TYPE \(name) \(kind.rawValue)\n\(samples)"
    }
}

/// A series' identity: its name and rendered labels, `user="ann",shard="0f"`.
struct MetricID: Hashable, Sendable {
    let name: String
    let labels: String

    /// One line of the text format.
    func sample(_ value: Double, suffix: String = "", extraLabel: String = "") -> String {
        let all = [labels, extraLabel].filter { !$0.isEmpty }.joined(separator: ",")
        return "\(name)\(suffix)\(all.isEmpty ? "" : "{\(all)}") \(PrometheusText.number(value))\n"
    }
}

/// One series: values under a name and a set of labels.
protocol MetricSeries: AnyObject, Sendable {
    var id: MetricID { get }
    /// The series in the text format.
    var samples: String { get }
}
