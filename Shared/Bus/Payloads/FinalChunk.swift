package import Workouts

/// One chunk of `series/{n}` or `track/{n}`, as it was read.
package struct FinalChunk: Equatable, Sendable {
    /// The revision of the summary that it belongs to; 0 of a session in progress.
    package private(set) var revision: Int64 = -1
    package private(set) var number = -1
    /// How many chunks there are.
    package private(set) var count = -1
    package private(set) var times: [Timestamp] = []
    /// By key; each as long as `times`, its numbers those of a row. Values that are no finite numbers are absent.
    package private(set) var columns: [String: [[Double]]] = [:]

    /// Reads a payload of the form of ``FinalRows/payload(number:revision:)``.
    package init(_ payload: ArraySlice<UInt8>) throws(PayloadError) {
        try JSONScanner.scan(payload) { (scanner) throws(PayloadError) in try read(&scanner) }
        guard revision >= 0, count > 0, (0..<count).contains(number), count <= SessionTopic.chunkLimit + 1 else {
            throw .malformed("revision, n or of is missing or out of range")
        }
        guard !times.isEmpty, columns.values.allSatisfy({ $0.count == times.count }) else {
            throw .malformed("columns: not equally long, or without times")
        }
    }

    private mutating func read(_ scanner: inout JSONScanner) throws(PayloadError) {
        try scanner.expect(UInt8(ascii: "{"))
        repeat {
            let key = String(decoding: try scanner.string(), as: UTF8.self)
            try scanner.expect(UInt8(ascii: ":"))
            switch key {
            case "revision": revision = Int64(try scanner.number()?.integer ?? -1)
            case "n": number = try scanner.number()?.integer ?? -1
            case "of": count = try scanner.number()?.integer ?? -1
            case "columns": try readColumns(&scanner)
            default: try scanner.skipValue()
            }
        } while scanner.take(UInt8(ascii: ","))
        try scanner.expect(UInt8(ascii: "}"))
        try scanner.expectEnd()
    }

    private mutating func readColumns(_ scanner: inout JSONScanner) throws(PayloadError) {
        try scanner.expect(UInt8(ascii: "{"))
        repeat {
            let key = String(decoding: try scanner.string(), as: UTF8.self)
            try scanner.expect(UInt8(ascii: ":"))
            try scanner.expect(UInt8(ascii: "["))
            var values: [[Double]] = []
            repeat {
                if key == "c" {
                    guard let time = try scanner.number()?.millionths else { throw scanner.unexpected("time expected") }
                    times.append(Timestamp(microseconds: time))
                } else {
                    values.append(try readRow(&scanner))
                }
            } while scanner.take(UInt8(ascii: ","))
            try scanner.expect(UInt8(ascii: "]"))
            if key != "c" { columns[key] = values }
        } while scanner.take(UInt8(ascii: ","))
        try scanner.expect(UInt8(ascii: "}"))
    }

    /// A number, `null` or a list of numbers.
    private func readRow(_ scanner: inout JSONScanner) throws(PayloadError) -> [Double] {
        let isList = scanner.take(UInt8(ascii: "["))
        if isList, scanner.take(UInt8(ascii: "]")) { return [] }
        var values: [Double] = []
        repeat {
            if let value = try scanner.number()?.double, value.isFinite { values.append(value) }
        } while isList && scanner.take(UInt8(ascii: ","))
        if isList { try scanner.expect(UInt8(ascii: "]")) }
        return values
    }
}

extension [FinalChunk] {
    /// The rows of all chunks, in their order; a column that some chunk lacks has no values there.
    private func joined() -> (times: [Timestamp], columns: [String: [[Double]]]) {
        let keys = Set(flatMap(\.columns.keys))
        let columns = keys.map { key in
            (key, flatMap { $0.columns[key] ?? [[Double]](repeating: [], count: $0.times.count) })
        }
        return (flatMap(\.times), Dictionary(uniqueKeysWithValues: columns))
    }

    /// The series that was cut into these chunks of `series`.
    package var series: Series {
        let rows = joined()
        return Series(
            times: rows.times,
            columns: Quantity.allCases.compactMap { quantity in
                rows.columns[quantity.key].map { Series.Column(quantity: quantity, lists: $0) }
            })
    }

    /// The track that was cut into these chunks of `track`.
    package var track: Track {
        let rows = joined()
        return Track(
            times: rows.times,
            columns: Track.Kind.allCases.compactMap { kind in
                rows.columns[kind.key].map { Track.Column(kind: kind, values: $0.map(\.first)) }
            })
    }
}
