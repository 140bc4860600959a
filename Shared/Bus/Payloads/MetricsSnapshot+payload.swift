import Foundation
package import Workouts

extension MetricsSnapshot {
    /// The snapshot as it stands on `metrics`, with the one-letter keys of high-rate messages in sorted order.
    package var payload: [UInt8] {
        var json = JSONWriter()
        json.object {
            $0.field("b", battery)
            if let newest { $0.field("c", newest) }
            $0.field("cd", cadence)
            $0.field("d", distance)
            $0.field("dp", displayPace)
            $0.field("dv", displaySpeed)
            $0.field("el", ascent)
            $0.field("h", heartRate)
            $0.field("ha", averageHeartRate)
            $0.field("hx", maximumHeartRate)
            $0.field("k", activeEnergy)
            if let energySource { $0.field("ks", plain: energySource) }
            $0.field("la", latitude)
            $0.field("lo", longitude)
            $0.field("lp", Int64(lap))
            $0.field("n", Int64(count))
            $0.field("p", pace)
            $0.field("pa", isPaused)
            $0.field("s", revision)
            $0.field("t", activeSeconds)
            $0.field("u", plain: user.description)
            $0.field("v", speed)
            $0.field("w", power)
            if let zones { $0.array("z", zones) { json, seconds in json.write(seconds) } }
        }
        return json.bytes
    }

    package init(_ payload: some Sequence<UInt8>) throws(PayloadError) {
        self = try JSONCoding.decode(MetricsSnapshot.self, from: payload)
    }
}

extension MetricsSnapshot: Decodable {
    private enum Key: String, CodingKey {
        case b, c, cd, d, dp, dv, el, h, ha, hx, k, ks, la, lo, lp, n, p, pa, s, t, u, v, w, z
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        func number(_ key: Key) throws -> Double? { try container.decodeIfPresent(Double.self, forKey: key) }
        self.init(
            user: try container.decode(User.self, forKey: .u), revision: try container.decode(Int64.self, forKey: .s))
        newest = try container.decodeIfPresent(Timestamp.self, forKey: .c)
        activeSeconds = try number(.t)
        distance = try number(.d)
        pace = try number(.p)
        heartRate = try number(.h)
        averageHeartRate = try number(.ha)
        maximumHeartRate = try number(.hx)
        activeEnergy = try number(.k)
        energySource = try container.decodeIfPresent(String.self, forKey: .ks)
        speed = try number(.v)
        cadence = try number(.cd)
        power = try number(.w)
        zones = try container.decodeIfPresent([Double].self, forKey: .z)
        isPaused = try container.decode(Bool.self, forKey: .pa)
        lap = try container.decode(Int.self, forKey: .lp)
        displayPace = try number(.dp)
        displaySpeed = try number(.dv)
        battery = try number(.b)
        latitude = try number(.la)
        longitude = try number(.lo)
        ascent = try number(.el)
        count = try container.decode(Int.self, forKey: .n)
    }
}
