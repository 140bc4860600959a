package import Workouts

extension RouteSnapshot {
    /// The snapshot as it stands on `route`, with the short keys of high-rate messages in sorted order.
    package var payload: [UInt8] {
        var json = JSONWriter()
        json.object {
            $0.field("al", altitude)
            if let newest { $0.field("c", newest) }
            $0.field("d", distance)
            $0.field("dl", descent)
            $0.field("el", ascent)
            $0.field("la", latitude)
            $0.field("lo", longitude)
            $0.field("n", Int64(count))
            $0.array("pl", polyline) { json, line in json.write(ascii: line) }
            $0.field("s", revision)
            $0.field("u", plain: user.description)
            $0.field("v", speed)
        }
        return json.bytes
    }
}
