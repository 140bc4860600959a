package import Workouts

extension RouteSnapshot {
    /// The payload of `route`, with the short keys of high-rate messages in sorted order.
    package var payload: [UInt8] {
        var json = JSONWriter()
        json.object {
            $0.field("al", altitude)
            if let newest { $0.field("c", newest) }
            $0.field("d", distance)
            $0.field("dl", descent)
            $0.field("el", ascent)
            $0.field("g", grade)
            $0.field("la", latitude)
            $0.field("lo", longitude)
            $0.field("n", Int64(count))
            $0.array("pl", polyline) { json, line in json.write(ascii: line) }
            $0.field("s", revision)
            $0.field("u", plain: user.description)
            $0.field("v", speed)
            $0.field("vx", maximumSpeed)
        }
        return json.bytes
    }
}

extension RouteProgress {
    /// Reads a payload of `route`, without its lines.
    package init(_ payload: ArraySlice<UInt8>) throws(PayloadError) {
        self.init(revision: -1)
        try JSONScanner.scan(payload) { (scanner) throws(PayloadError) in
            try scanner.expect(UInt8(ascii: "{"))
            repeat {
                let key = try scanner.shortKey()
                if try !read(key, &scanner) { try scanner.skipValue() }
            } while scanner.take(UInt8(ascii: ","))
            try scanner.expect(UInt8(ascii: "}"))
            try scanner.expectEnd()
        }
        guard hasRevision else { throw .malformed("s: missing or out of range", field: "s") }
    }

    var hasRevision: Bool { SeenRevision.range.contains(revision) }

    /// Reads the value of a key. Returns `false` if the key is none of the route's figures.
    mutating func read(_ key: (UInt8, UInt8), _ scanner: inout JSONScanner) throws(PayloadError) -> Bool {
        switch key {
        case (UInt8(ascii: "c"), 0): newest = try scanner.number()?.millionths.map { Timestamp(microseconds: $0) }
        case (UInt8(ascii: "d"), 0): distance = try scanner.finite()
        case (UInt8(ascii: "e"), UInt8(ascii: "l")): ascent = try scanner.finite()
        case (UInt8(ascii: "g"), 0): grade = try scanner.finite()
        case (UInt8(ascii: "l"), UInt8(ascii: "a")): latitude = try scanner.finite()
        case (UInt8(ascii: "l"), UInt8(ascii: "o")): longitude = try scanner.finite()
        case (UInt8(ascii: "s"), 0): revision = Int64(try scanner.number()?.integer ?? -1)
        case (UInt8(ascii: "v"), 0): speed = try scanner.finite()
        case (UInt8(ascii: "v"), UInt8(ascii: "x")): maximumSpeed = try scanner.finite()
        default: return false
        }
        return true
    }
}
