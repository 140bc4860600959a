import Foundation
import Testing
import Workouts

@testable import Dashboard

struct FormattingTests {
    /// A row of `modules/format.json`, which also tests the JavaScript formatter.
    struct Case: Decodable, CustomTestStringConvertible {
        let quantity: String
        let value: Double?
        let units: Units?
        let activity: Activity?
        let isEstimated: Bool?
        let humidity: Double?
        let zone: String?
        let text: String

        var testDescription: String { "\(quantity) \(value.map { "\($0)" } ?? "unknown")" }

        static let all: [Case] = {
            let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../modules/format.json")
            return try! JSONDecoder().decode([Case].self, from: Data(contentsOf: file))
        }()
    }

    @Test(arguments: Case.all)
    func `a value is written as the table says`(_ row: Case) throws {
        #expect(try Self.text(row) == row.text)
    }

    private static func text(_ row: Case) throws -> String {
        guard let value = row.value else { return Formatting.Text.unknown.joined }
        let format = Formatting(units: row.units ?? .metric, activity: row.activity)
        switch row.quantity {
        case "duration": return format.duration(value).joined
        case "distance": return format.distance(value).joined
        case "roughDistance": return format.roughDistance(value).joined
        case "pace": return format.pace(value).joined
        case "speed": return format.speed(value).joined
        case "heartRate": return format.heartRate(value).joined
        case "power": return format.power(value).joined
        case "energy": return format.energy(value, isEstimated: row.isEstimated ?? false).joined
        case "cadence": return format.cadence(value).joined
        case "height": return format.height(value).joined
        case "weight": return format.weight(value).joined
        case "temperature": return format.temperature(value).joined
        case "share": return format.share(value).joined
        case "count": return format.count(value).joined
        case "weather": return format.weather(value, humidity: row.humidity)
        case "date": return Formatting.date(Timestamp(seconds: value), zone: row.zone)
        default: throw UnknownQuantity(name: row.quantity)
        }
    }

    private struct UnknownQuantity: Error {
        let name: String
    }
}
