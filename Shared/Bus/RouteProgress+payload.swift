package import Workouts

extension RouteProgress: Decodable {
    private enum Key: String, CodingKey {
        case c, d, el, la, lo, s, v
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
    }
}
