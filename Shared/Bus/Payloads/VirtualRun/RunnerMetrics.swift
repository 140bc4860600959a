import Foundation
package import Workouts

/// What virtual-run needs of a payload of `metrics`.
package struct RunnerMetrics: Equatable, Sendable {
    package var run: RunID?
    package var revision: Int64 = -1
    package var newest: Timestamp?
    package var count = 0
    package var activeSeconds: Double?
    package var distance: Double?
    package var speed: Double?
    package var pace: Double?
    package var heartRate: Double?
    package var activeEnergy: Double?
    package var isPaused = false
    package var position: Coordinate?
    /// 0…1.
    package var battery: Double?

    package init(run: RunID?, revision: Int64) {
        self.run = run
        self.revision = revision
    }

    /// Whether a payload of `metrics` names a virtual run. It reads no value, so that foreign snapshots cost little.
    package static func namesRun(_ payload: ArraySlice<UInt8>) -> Bool {
        payload.withUnsafeBufferPointer { bytes in
            guard bytes.count > 5, let start = bytes.baseAddress else { return false }
            var index = 1
            // The key, its quotation marks, the colon and the quotation mark of its value.
            while index < bytes.count - 3,
                let place = memchr(start + index, Int32(UInt8(ascii: "r")), bytes.count - 3 - index)
            {
                index = UnsafeRawPointer(place) - UnsafeRawPointer(start) + 1
                if memcmp(start + index - 2, "\"r\":\"", 5) == 0 { return true }
            }
            return false
        }
    }

    package init(_ payload: ArraySlice<UInt8>) throws(PayloadError) {
        try JSONScanner.scan(payload) { (scanner) throws(PayloadError) in try read(&scanner) }
        guard revision >= 0 else { throw .malformed("s: missing or out of range", field: "s") }
    }

    private mutating func read(_ scanner: inout JSONScanner) throws(PayloadError) {
        var (latitude, longitude): (Double?, Double?)
        try scanner.expect(UInt8(ascii: "{"))
        repeat {
            let key = try scanner.string()
            try scanner.expect(UInt8(ascii: ":"))
            switch key.count == 1 ? key[key.startIndex] : 0 {
            case UInt8(ascii: "b"): battery = try scanner.finite()
            case UInt8(ascii: "c"): newest = try scanner.number()?.millionths.map { Timestamp(microseconds: $0) }
            case UInt8(ascii: "d"): distance = try scanner.finite(within: RunCurve.range)
            case UInt8(ascii: "h"): heartRate = try scanner.finite()
            case UInt8(ascii: "k"): activeEnergy = try scanner.finite()
            case UInt8(ascii: "n"): count = try scanner.number()?.integer ?? 0
            case UInt8(ascii: "p"): pace = try scanner.finite()
            case UInt8(ascii: "r") where scanner.peek() == UInt8(ascii: "\""):
                run = RunID(String(decoding: try scanner.string(), as: UTF8.self))
            case UInt8(ascii: "s"): revision = Int64(try scanner.number()?.integer ?? -1)
            case UInt8(ascii: "t"): activeSeconds = try scanner.finite()
            case UInt8(ascii: "v"): speed = try scanner.finite()
            default:
                switch key.count == 2 ? (key[key.startIndex], key[key.startIndex + 1]) : (0, 0) {
                case (UInt8(ascii: "l"), UInt8(ascii: "a")):
                    latitude = try scanner.finite(within: LocationField.latitude.range)
                case (UInt8(ascii: "l"), UInt8(ascii: "o")):
                    longitude = try scanner.finite(within: LocationField.longitude.range)
                case (UInt8(ascii: "p"), UInt8(ascii: "a")):
                    isPaused = scanner.peek() == UInt8(ascii: "t")
                    try scanner.skipValue()
                default: try scanner.skipValue()
                }
            }
        } while scanner.take(UInt8(ascii: ","))
        try scanner.expect(UInt8(ascii: "}"))
        try scanner.expectEnd()
        if let latitude, let longitude { position = Coordinate(latitude: latitude, longitude: longitude) }
    }
}

extension JSONScanner {
    /// A value outside counts as unknown: no session has it.
    fileprivate mutating func finite(within range: ClosedRange<Double>) throws(PayloadError) -> Double? {
        try finite().flatMap { range.contains($0) ? $0 : nil }
    }
}
