/// One SQL statement with its parameters in PostgreSQL's binary form.
struct PostgresStatement: Sendable {
    let sql: String
    let parameters: [[UInt8]]
    /// Whether the connection keeps the parsed statement. Not for one that runs once.
    let isPrepared: Bool

    init(_ sql: String, _ parameters: [UInt8]..., isPrepared: Bool = true) {
        self.init(sql, parameters, isPrepared: isPrepared)
    }

    init(_ sql: String, _ parameters: [[UInt8]], isPrepared: Bool = true) {
        self.sql = sql
        self.parameters = parameters
        self.isPrepared = isPrepared
    }
}

/// Values in PostgreSQL's binary form: integers are big-endian, text is UTF-8.
enum PostgresValue {
    static func int8(_ value: Int64) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { [UInt8]($0) } }

    static func int4(_ value: Int32) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { [UInt8]($0) } }

    static func int2(_ value: Int16) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { [UInt8]($0) } }

    static func text(_ value: String) -> [UInt8] { [UInt8](value.utf8) }

    static func int2s(_ values: some Collection<UInt8>) -> [UInt8] {
        array(values, type: 21, size: 2) { value, bytes in
            bytes.append(0)
            bytes.append(value)
        }
    }

    static func int8s(_ values: some Collection<Int64>) -> [UInt8] {
        array(values, type: 20, size: 8) { value, bytes in bytes += int8(value) }
    }

    static func texts(_ values: some Collection<String>) -> [UInt8] {
        let size = values.reduce(0) { $0 + $1.utf8.count }
        return array(values, type: 25, total: size) { value, bytes in
            bytes += int4(Int32(value.utf8.count))
            bytes += value.utf8
        }
    }

    static func byteas(_ values: some Collection<[UInt8]>) -> [UInt8] {
        let size = values.reduce(0) { $0 + $1.count }
        return array(values, type: 17, total: size) { value, bytes in
            bytes += int4(Int32(value.count))
            bytes += value
        }
    }

    private static func array<Element>(
        _ values: some Collection<Element>, type: Int32, size: Int32, append: (Element, inout [UInt8]) -> Void
    ) -> [UInt8] {
        array(values, type: type, total: values.count * Int(size)) { value, bytes in
            bytes += int4(size)
            append(value, &bytes)
        }
    }

    /// Dimensions, a flag for nulls, the element's type, the count, the lower bound, then the elements with their lengths.
    private static func array<Element>(
        _ values: some Collection<Element>, type: Int32, total: Int, append: (Element, inout [UInt8]) -> Void
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(20 + values.count * 4 + total)
        bytes += int4(values.isEmpty ? 0 : 1) + int4(0) + int4(type)
        guard !values.isEmpty else { return bytes }
        bytes += int4(Int32(values.count)) + int4(1)
        for value in values { append(value, &bytes) }
        return bytes
    }
}
