import Foundation
package import Workouts

extension MetricsSnapshot {
    /// The payload of `metrics`, with the one-letter keys of high-rate messages in sorted order.
    package var payload: [UInt8] {
        var others = others.map { (key: $0.key.key, quantity: $0.key, values: $0.value) }
            .sorted { $0.key > $1.key }
        var json = JSONWriter()
        json.object { json in
            /// Writes the other quantities whose keys come before `key`, then makes room for it.
            func next(_ key: String?) {
                while let other = others.last, key.map({ other.key < $0 }) ?? true {
                    if other.quantity.isList {
                        json.array(other.key, other.values) { json, value in json.write(value) }
                    } else if let value = other.values.first {
                        json.field(other.key, value)
                    }
                    others.removeLast()
                }
            }
            func field(_ key: StaticString, _ value: Double?) {
                if !others.isEmpty { next("\(key)") }
                json.field(key, value)
            }
            field("ap", averagePace)
            field("b", battery)
            if let newest {
                next("c")
                json.field("c", newest)
            }
            field("ca", averageCadence)
            field("cd", cadence)
            field("d", distance)
            field("dp", displayPace)
            if !devices.isEmpty {
                next("ds")
                json.objectField("ds") { json in
                    for (device, presence) in devices.sorted(by: { $0.key < $1.key }) {
                        json.objectField("\(device)") {
                            $0.field("b", presence.battery)
                            $0.field("c", presence.newest)
                        }
                    }
                }
            }
            field("dv", displaySpeed)
            field("el", ascent)
            field("h", heartRate)
            field("ha", averageHeartRate)
            field("hx", maximumHeartRate)
            field("k", activeEnergy)
            if let energySource {
                next("ks")
                json.field("ks", plain: energySource.rawValue)
            }
            field("la", latitude)
            field("ld", lapDistance)
            field("lo", longitude)
            next("lp")
            json.field("lp", Int64(lap))
            field("lt", lapSeconds)
            next("n")
            json.field("n", Int64(count))
            field("p", pace)
            next("pa")
            json.field("pa", isPaused)
            if let run {
                next("r")
                json.field("r", plain: run.description)
            }
            next("s")
            json.field("s", revision)
            field("sn", steps)
            field("t", activeSeconds)
            field("tm", movingSeconds)
            field("tp", temperature)
            next("u")
            json.field("u", plain: user.description)
            field("v", speed)
            field("vx", maximumSpeed)
            field("w", power)
            field("wa", averagePower)
            next("z")
            if let zones { json.array("z", zones) { json, seconds in json.write(seconds) } }
            next(nil)
        }
        return json.bytes
    }

    package init(_ payload: some Sequence<UInt8>) throws(PayloadError) {
        self = try JSONCoding.decode(MetricsSnapshot.self, from: payload)
    }
}

extension MetricsSnapshot: Decodable {
    private enum Key: String, CodingKey {
        case ap, b, c, ca, cd, d, dp, ds, dv, el, h, ha, hx, k, ks, la, ld, lo, lp, lt, n, p, pa, r, s, sn, t, tm, tp,
            u, v, vx
        case w, wa, z
    }

    private struct QuantityKey: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        func number(_ key: Key) throws -> Double? { try container.decodeIfPresent(Double.self, forKey: key) }
        self.init(
            user: try container.decode(User.self, forKey: .u), revision: try container.decode(Int64.self, forKey: .s))
        run = try container.decodeIfPresent(RunID.self, forKey: .r)
        newest = try container.decodeIfPresent(Timestamp.self, forKey: .c)
        activeSeconds = try number(.t)
        distance = try number(.d)
        pace = try number(.p)
        heartRate = try number(.h)
        averageHeartRate = try number(.ha)
        maximumHeartRate = try number(.hx)
        activeEnergy = try number(.k)
        energySource = try container.decodeIfPresent(EnergySource.self, forKey: .ks)
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
        averagePace = try number(.ap)
        averageCadence = try number(.ca)
        averagePower = try number(.wa)
        maximumSpeed = try number(.vx)
        steps = try number(.sn)
        temperature = try number(.tp)
        movingSeconds = try number(.tm)
        lapSeconds = try number(.lt)
        lapDistance = try number(.ld)
        for (name, presence) in try container.decodeIfPresent([String: DevicePresence].self, forKey: .ds) ?? [:] {
            // A name of a newer format is no device.
            if let device = Device(name) { devices[device] = presence }
        }
        count = try container.decode(Int.self, forKey: .n)
        let others = try decoder.container(keyedBy: QuantityKey.self)
        for quantity in Quantity.allCases where !quantity.isNamed {
            let key = QuantityKey(stringValue: quantity.key)
            self.others[quantity] =
                quantity.isList
                ? try others.decodeIfPresent([Double].self, forKey: key)
                : try others.decodeIfPresent(Double.self, forKey: key).map { [$0] }
        }
    }
}

extension DevicePresence: Decodable {
    private enum Key: String, CodingKey {
        case b, c
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        self.init(
            newest: try container.decode(Timestamp.self, forKey: .c),
            battery: try container.decodeIfPresent(Double.self, forKey: .b))
    }
}
