"""Texts to check the prices of tokens with: one story in many languages, and what pages also have."""

# ruff: noqa: E501, ISC004, RUF001

from typing import Final

HELD_OUT: Final[dict[str, tuple[str, ...]]] = {
    "English": (
        "The night train leaves the harbour at half past nine and climbs for three hours through the valley. "
        "Most passengers sleep; the guard walks along the corridor, checks the heating and makes tea for "
        "anyone who cannot. At the border nobody gets up any more, because the passports were collected in "
        "the evening. In the morning there is fresh bread, and snow on the roofs.",
    ),
    "other Latin": (
        "Der Nachtzug verlässt den Hafen um halb zehn und fährt drei Stunden lang durch das Tal hinauf. Die "
        "meisten Fahrgäste schlafen; der Schaffner geht durch den Gang, prüft die Heizung und kocht Tee. An "
        "der Grenze steht niemand mehr auf, denn die Ausweise wurden schon am Abend eingesammelt.",
        "Le train de nuit quitte le port à neuf heures et demie et monte pendant trois heures dans la vallée. "
        "La plupart des voyageurs dorment ; le contrôleur parcourt le couloir, vérifie le chauffage et prépare "
        "du thé. À la frontière, personne ne se lève plus, car les passeports ont été ramassés le soir.",
        "El tren nocturno sale del puerto a las nueve y media y sube durante tres horas por el valle. La "
        "mayoría de los pasajeros duerme; el revisor recorre el pasillo, comprueba la calefacción y prepara "
        "té. En la frontera ya nadie se levanta, porque los pasaportes se recogieron por la noche.",
        "Nocny pociąg wyjeżdża z portu o wpół do dziesiątej i przez trzy godziny wspina się doliną. Większość "
        "pasażerów śpi; konduktor chodzi po korytarzu, sprawdza ogrzewanie i parzy herbatę. Na granicy nikt "
        "już nie wstaje, bo paszporty zebrano wieczorem.",
        "Gece treni limandan dokuz buçukta kalkar ve üç saat boyunca vadiden yukarı tırmanır. Yolcuların çoğu "
        "uyur; kondüktör koridorda dolaşır, ısıtmayı kontrol eder ve çay demler. Sınırda artık kimse kalkmaz, "
        "çünkü pasaportlar akşam toplanmıştır.",
    ),
    "Cyrillic": (
        "Ночной поезд уходит из порта в половине десятого и три часа поднимается по долине. Большинство "
        "пассажиров спит; проводник ходит по коридору, проверяет отопление и заваривает чай. На границе уже "
        "никто не встаёт, потому что паспорта собрали вечером. Утром есть свежий хлеб и снег на крышах.",
        "Нічний поїзд вирушає з порту о пів на десяту і три години піднімається долиною. Більшість пасажирів "
        "спить; провідник ходить коридором, перевіряє опалення і заварює чай. На кордоні вже ніхто не встає.",
    ),
    "Greek": (
        "Το νυχτερινό τρένο φεύγει από το λιμάνι στις εννιά και μισή και ανεβαίνει επί τρεις ώρες την κοιλάδα. "
        "Οι περισσότεροι επιβάτες κοιμούνται· ο ελεγκτής περπατά στον διάδρομο, ελέγχει τη θέρμανση και "
        "φτιάχνει τσάι. Στα σύνορα δεν σηκώνεται πια κανείς, γιατί τα διαβατήρια μαζεύτηκαν το βράδυ.",
    ),
    "Chinese": (
        "夜班列车九点半离开港口，沿着山谷向上行驶三个小时。大多数乘客都睡着了；列车员沿着走廊巡视，检查暖气，"
        "给睡不着的人泡茶。到了边境，没有人再起床，因为护照在晚上已经收走了。早晨有新鲜的面包，屋顶上有雪。",
    ),
    "Japanese": (
        "夜行列車は九時半に港を出て、三時間かけて谷を登っていきます。ほとんどの乗客は眠っていますが、車掌は廊下を歩き、"
        "暖房を確かめ、眠れない人のためにお茶をいれます。国境ではもう誰も起きません。パスポートは夕方に集められたからです。",
    ),
    "Korean": (
        "야간열차는 아홉 시 반에 항구를 떠나 세 시간 동안 골짜기를 따라 올라갑니다. 승객들은 대부분 잠들어 있고, "
        "차장은 복도를 걸으며 난방을 확인하고 잠들지 못한 사람에게 차를 끓여 줍니다. 국경에서는 이제 아무도 일어나지 않습니다.",
    ),
    "Arabic, Hebrew": (
        "يغادر القطار الليلي الميناء في التاسعة والنصف ويصعد ثلاث ساعات عبر الوادي. ينام معظم الركاب، ويمشي "
        "المفتش في الممر ويفحص التدفئة ويعد الشاي لمن لا يستطيع النوم. عند الحدود لم يعد أحد ينهض.",
        "רכבת הלילה יוצאת מהנמל בתשע וחצי ומטפסת שלוש שעות במעלה העמק. רוב הנוסעים ישנים; הכרטיסן הולך "
        "לאורך המסדרון, בודק את החימום ומכין תה למי שלא מצליח להירדם. בגבול איש כבר אינו קם.",
    ),
    "Devanagari, Thai": (
        "रात की गाड़ी साढ़े नौ बजे बंदरगाह से निकलती है और तीन घंटे तक घाटी में ऊपर चढ़ती है। अधिकतर यात्री सो जाते हैं; "
        "परिचालक गलियारे में घूमता है, हीटर देखता है और जिन्हें नींद नहीं आती उनके लिए चाय बनाता है।",
        "รถไฟกลางคืนออกจากท่าเรือเวลาสามทุ่มครึ่งและไต่ขึ้นไปตามหุบเขานานสามชั่วโมง ผู้โดยสารส่วนใหญ่นอนหลับ "
        "พนักงานเดินไปตามทางเดิน ตรวจเครื่องทำความร้อน และชงชาให้คนที่นอนไม่หลับ",
    ),
    "code": (
        "async function loadTimetable(station, { retries = 3 } = {}) {\n  for (let attempt = 0; attempt < retries; "
        "attempt++) {\n    const response = await fetch(`/api/stations/${station}/departures`);\n    if "
        "(response.ok) {\n      return response.json();\n    }\n    await delay(250 * 2 ** attempt);\n  }\n  throw "
        "new Error(`no timetable for ${station}`);\n}\n",
        "@dataclass(frozen=True)\nclass Departure:\n    platform: int\n    leaves_at: datetime\n\n    def "
        "is_late(self, now: datetime) -> bool:\n        return now > self.leaves_at + "
        "timedelta(minutes=5)\n\n\ndef next_departure(all_of_them: list[Departure]) -> Departure | None:\n    "
        "return min(all_of_them, key=lambda one: one.leaves_at, default=None)\n",
    ),
    "addresses": (
        "[1]: https://www.railways.example/timetables/2025/night-trains?from=harbour&to=summit#prices\n"
        "[2]: https://en.wikipedia.org/wiki/Sleeping_car\n"
        "[3]: https://cdn.railways.example/assets/img/9f1c2b7e/header@2x.png\n"
        "[4]: https://github.com/railways/timetable/blob/main/src/departures.py#L120-L148\n"
        "[5]: https://shop.railways.example/de/tickets?id=48213&utm_source=newsletter&utm_medium=email\n",
    ),
    "tables": (
        "| Station | Arrives | Leaves | Platform | Height |\n| --- | ---: | ---: | ---: | ---: |\n"
        "| Harbour | – | 21:30 | 4 | 3 m |\n| Mill Bridge | 22:14 | 22:16 | 2 | 187 m |\n"
        "| Upper Valley | 23:02 | 23:05 | 1 | 642 m |\n| **Summit** | 00:31 | – | 3 | 1,284 m |\n",
    ),
}
