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

extension RouteProgress: Decodable {
    private enum Key: String, CodingKey {
        case c, d, el, g, la, lo, s, v, vx
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        func number(_ key: Key) throws -> Double? { try container.decodeIfPresent(Double.self, forKey: key) }
        self.init(revision: try container.decode(Int64.self, forKey: .s))
        newest = try container.decodeIfPresent(Timestamp.self, forKey: .c)
        distance = try number(.d)
        ascent = try number(.el)
        latitude = try number(.la)
        longitude = try number(.lo)
        speed = try number(.v)
        maximumSpeed = try number(.vx)
        grade = try number(.g)
    }
}
